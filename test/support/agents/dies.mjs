// Exits in the middle of its turn, with last words; `orphan` leaves a child behind that holds stdout open.
import { spawn } from 'node:child_process';
import { serve } from './app-server.mjs';

serve({
  'turn/start': (agent, message) => {
    agent.beginTurn(message);
    if (process.argv[2] === 'orphan') spawn('sleep', ['600'], { stdio: ['ignore', 'inherit', 'ignore'] });
    process.stderr.write('\x1b[2mout of\x1b[0m \x1b[31mcheese\x1b[0m\n\x1b[0m\n', () => process.exit(3));
  },
});
