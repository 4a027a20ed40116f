import { onQuestion, write } from './lines.mjs';

onQuestion(({ id }) => {
  process.stderr.write('something broke\n');
  write(`{"id":${id},"result":{"iss`, () => process.exit(3));
});
