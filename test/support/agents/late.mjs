// Answers the naming of its thread only when it is steered: far too late.
import { serve } from './app-server.mjs';

let naming = null;

serve({
  'thread/name/set': (_, message) => {
    naming = message;
  },
  'turn/start': (agent, message) => {
    agent.beginTurn(message);
    agent.notify('fake/ready', {});
  },
  'turn/steer': (agent) => agent.reply(naming, {}),
});
