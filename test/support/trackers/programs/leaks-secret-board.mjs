// A good board whose first answer is an error, with its secret in it and on stderr.
import { fail, onRequest, replyDefault } from './lines.mjs';

const { TOKEN = '' } = process.env;
let isFirst = true;
onRequest((request) => {
  process.stderr.write(`token ${TOKEN} ${Buffer.from(TOKEN).toString('base64')}\n`);
  if (isFirst) fail(request.id, 'failed', `cannot use ${TOKEN} ${encodeURIComponent(TOKEN)}`);
  else replyDefault(request);
  isFirst = false;
});
