import { onRequest, write } from './lines.mjs';

onRequest(({ id }) => {
  process.stderr.write('something broke\n');
  write(`{"id":${id},"result":{"iss`, () => process.exit(3));
});
