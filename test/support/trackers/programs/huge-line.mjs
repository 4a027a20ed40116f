// A line without an end, for ever; or, with a number, an answer of that many characters.
import { issue, onRequest, reply } from './lines.mjs';

const size = Number(process.argv[2] ?? 0);
onRequest(({ id }) => {
  if (size > 0) return reply(id, { issues: [issue('1', { description: 'ü'.repeat(size) })] });
  const chunk = 'x'.repeat(1 << 20);
  const pour = () => {
    while (process.stdout.write(chunk));
    process.stdout.once('drain', pour);
  };
  pour();
});
