// Works on its turn for ever, ignores EOF and TERM, and starts children that leave its process group. argv: a number to find them by.
import { spawn } from 'node:child_process';
import { serve } from './app-server.mjs';

const [mark = '0'] = process.argv.slice(2);
for (const signal of ['SIGTERM', 'SIGHUP', 'SIGINT']) process.on(signal, () => {});
process.stdin.on('end', () => {});
setInterval(() => {}, 60_000);

serve({
  'turn/start': (agent, message) => {
    agent.beginTurn(message);
    for (const seconds of [2000, 2001]) {
      spawn('setsid', ['sleep', `${seconds}.${mark}`], {
        detached: true,
        stdio: 'ignore',
        env: seconds % 2 ? {} : process.env,
      });
    }
    agent.item('started', { type: 'commandExecution', id: 'busy', command: 'sleep' });
  },
  'turn/interrupt': () => {},
});
