// A good board whose first answer is an error, with its secret in it and on stderr.
import { fail, onQuestion, replyAsUsual } from './lines.mjs';

const { TOKEN = '' } = process.env;
let isFirst = true;
onQuestion((question) => {
  process.stderr.write(`token ${TOKEN} ${Buffer.from(TOKEN).toString('base64')}\n`);
  if (isFirst) fail(question.id, 'failed', `cannot use ${TOKEN} ${encodeURIComponent(TOKEN)}`);
  else replyAsUsual(question);
  isFirst = false;
});
