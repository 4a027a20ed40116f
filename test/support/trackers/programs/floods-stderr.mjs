// Writes 200 MB to stderr, then answers; or dies, with `dies`.
import { onRequest, replyDefault } from './lines.mjs';

onRequest((request) => {
  let left = 3200;
  const chunk = `${'noise '.repeat(10922)}\n`;
  const pour = () => {
    while (left-- > 0) if (!process.stderr.write(chunk)) return process.stderr.once('drain', pour);
    process.stderr.write('the last word\n', () => {
      if (process.argv[2] === 'dies') process.exit(1);
      else replyDefault(request);
    });
  };
  pour();
});
