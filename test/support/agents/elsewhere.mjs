// Opens its thread in another folder than it was told to.
import { serve, THREAD } from './app-server.mjs';

serve({ 'thread/start': (agent, message) => agent.reply(message, { thread: { id: THREAD }, cwd: '/' }) });
