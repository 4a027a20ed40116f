// Never answers the methods that argv names, and does not end by itself; with `stubborn` it has to be killed.
import { onRequest, reply, replyDefault } from './lines.mjs';

const silent = process.argv.slice(2);
if (silent.includes('stubborn')) process.on('SIGTERM', () => {});
setInterval(() => {}, 1000);
onRequest((request) => {
  if (silent.includes(request.method)) return;
  if (['comment', 'move'].includes(request.method)) reply(request.id, {});
  else replyDefault(request);
});
