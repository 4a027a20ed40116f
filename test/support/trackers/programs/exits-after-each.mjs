// One line in, one line out, and it is gone: as a shell script would do it. With `late` it reads on for a moment first.
import { onQuestion, replyAsUsual } from './lines.mjs';

let isDone = false;
onQuestion((question) => {
  if (isDone) return;
  isDone = true;
  replyAsUsual(question, () => setTimeout(() => process.exit(0), process.argv[2] === 'late' ? 100 : 0));
});
