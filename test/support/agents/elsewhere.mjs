// Opens its thread in a folder other than the requested one.
import { serve, THREAD } from './app-server.mjs';

serve({ 'thread/start': (agent, message) => agent.reply(message, { thread: { id: THREAD }, cwd: '/' }) });
