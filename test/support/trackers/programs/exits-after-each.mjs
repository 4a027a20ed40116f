// One line in, one line out, and it is gone: as a shell script would do it. With `late` it reads on for a moment first.
import { onRequest, replyDefault } from './lines.mjs';

let isDone = false;
onRequest((request) => {
  if (isDone) return;
  isDone = true;
  replyDefault(request, () => setTimeout(() => process.exit(0), process.argv[2] === 'late' ? 100 : 0));
});
