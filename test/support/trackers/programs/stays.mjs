// Answers every request as the JSON of argv[2] says, by method: a result, or {"error": …}. Reads that it does not name are answered as usual.
import { answerTo, fail, onRequest, reply, write } from './lines.mjs';

const [, , given = ''] = process.argv;
const script = given.startsWith('{') ? JSON.parse(given) : {};
onRequest((request) => {
  const { id, method } = request;
  const said = script[method] ?? answerTo(request);
  if (said === null) fail(id, 'unsupported', 'never heard of it');
  else if (said.error) write(`${JSON.stringify({ id, ...said })}\n`);
  else reply(id, said);
});
