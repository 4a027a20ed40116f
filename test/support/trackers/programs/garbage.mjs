// Answers with argv[2], whatever it is, or with the bytes of its hexadecimal form.
import { onRequest } from './lines.mjs';

const [, , text, form] = process.argv;
onRequest(({ id }) => {
  process.stdout.write(form === 'hex' ? Buffer.from(text, 'hex') : text.replaceAll('ID', id));
  process.stdout.write('\n');
});
