// Closes its stdin in the turn and asks for an approval that can no longer be given.
import { closeSync } from 'node:fs';
import { serve } from './app-server.mjs';

serve({
  'turn/start': (agent, message) => {
    agent.beginTurn(message);
    closeSync(0);
    void agent.ask('item/commandExecution/requestApproval', { command: 'ls' });
    setInterval(() => {}, 1_000);
  },
});
