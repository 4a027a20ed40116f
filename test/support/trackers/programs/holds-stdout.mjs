// Leaves a grandchild in a session of its own that holds its stdout, and exits: after its answer, or with `silent` before it.
import { spawn } from 'node:child_process';
import { onRequest, replyDefault } from './lines.mjs';

onRequest((request) => {
  const dir = process.argv.at(-1);
  spawn(process.execPath, ['-e', 'setTimeout(() => {}, 60_000)', dir], { detached: true, stdio: 'inherit' }).unref();
  if (process.argv[2] === 'silent') process.exit(0);
  replyDefault(request, () => process.exit(0));
});
