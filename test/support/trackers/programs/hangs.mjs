// Never answers the methods that argv names, and does not end by itself; with `stubborn` it has to be killed.
import { onQuestion, reply, replyAsUsual } from './lines.mjs';

const silent = process.argv.slice(2);
if (silent.includes('stubborn')) process.on('SIGTERM', () => {});
setInterval(() => {}, 1000);
onQuestion((question) => {
  if (silent.includes(question.method)) return;
  if (['comment', 'move'].includes(question.method)) reply(question.id, {});
  else replyAsUsual(question);
});
