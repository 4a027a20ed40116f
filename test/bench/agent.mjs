// Answers as an app-server does and writes down when its first prompt came, in milliseconds since the epoch. With one argument: that file.
import { writeFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

const [stampFile] = process.argv.slice(2);
const send = (message) => process.stdout.write(`${JSON.stringify(message)}\n`);
const turn = { id: 'turn-1', status: 'inProgress', items: [], error: null };

createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method } = JSON.parse(line);
  if (id === undefined) return;
  if (method === 'turn/start') {
    writeFileSync(stampFile, String(performance.timeOrigin + performance.now()));
    send({ id, result: { turn } });
    send({ method: 'turn/started', params: { threadId: 'thread-1', turn } });
    send({ method: 'turn/completed', params: { threadId: 'thread-1', turn: { ...turn, status: 'completed' } } });
  } else send({ id, result: { thread: { id: 'thread-1' }, cwd: process.cwd() } });
});
