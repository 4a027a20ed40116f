// Works on its turn for ever, as an app-server does, and does not end with its daemon. With one argument: the folder in which it writes
// down when its prompt came, in milliseconds since the epoch, in a file named after its run.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

const [folder] = process.argv.slice(2);
const send = (message) => process.stdout.write(`${JSON.stringify(message)}\n`);
const turn = { id: 'turn-1', status: 'inProgress', items: [], error: null };
process.stdout.on('error', () => {});
setInterval(() => {}, 1_000_000);

createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method } = JSON.parse(line);
  if (id === undefined) return;
  if (method === 'turn/start') {
    writeFileSync(join(folder, process.env.BATON_RUN_ID), String(performance.timeOrigin + performance.now()));
    send({ id, result: { turn } });
    send({ method: 'turn/started', params: { threadId: 'thread-1', turn } });
  } else send({ id, result: { thread: { id: 'thread-1' }, cwd: process.cwd() } });
});
