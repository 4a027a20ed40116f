// Starts a turn and never ends it. `deaf` also leaves interrupts unanswered; The second argument lists notifications to send first.
import { serve } from './app-server.mjs';

const [mode, notices = '[]'] = process.argv.slice(2);

serve({
  'turn/start': (agent, message) => {
    agent.beginTurn(message);
    for (const [method, params] of JSON.parse(notices)) agent.notify(method, params);
    agent.notify('fake/ready', { turnId: null });
  },
  'turn/steer': (agent, message) => {
    agent.reply(message, { turnId: agent.turnId });
    agent.notify('fake/steered', { turnId: null });
  },
  ...(mode === 'deaf' ? { 'turn/interrupt': (agent) => agent.notify('fake/interrupted', { turnId: null }) } : {}),
});
