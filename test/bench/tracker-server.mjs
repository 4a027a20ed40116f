// A tracker on loopback in its own process, so its cost is not measured. Its first line is its address;
// `/told` returns the requests and answers since the last call.
//   node test/bench/tracker-server.mjs <kind> <issues>
import { createHash } from 'node:crypto';
import { createServer } from 'node:http';
import { BOARDS } from './tracker-boards.mjs';

const [, , kind, count] = process.argv;
const board = BOARDS[kind](Number(count));
/** By question, so that no answer is made twice. */
const made = new Map();
const told = [];

const server = createServer((request, response) => {
  const chunks = [];
  request.on('data', (chunk) => chunks.push(chunk));
  request.on('end', () => {
    if (request.url === '/told') return response.end(JSON.stringify(told.splice(0)));
    const asked = Buffer.concat(chunks).toString();
    const key = `${request.url} ${asked}`;
    const { status, headers, payload, etag } = made.get(key) ?? make(key, request, asked);
    told.push({ method: request.method, path: request.url, body: asked, payload });
    const isKnown = request.method === 'GET' && request.headers['if-none-match'] === etag;
    response.writeHead(isKnown ? 304 : status, { ...headers, etag });
    response.end(isKnown ? undefined : payload);
  });
});
server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}`));
process.stdin.resume().on('end', () => process.exit(0));

function make(key, request, asked) {
  const origin = `http://${request.headers.host}`;
  const { pathname, searchParams } = new URL(request.url, origin);
  const said = board.answer(request.method, pathname, searchParams, asked === '' ? null : JSON.parse(asked));
  const payload = JSON.stringify(said ?? { message: `the benchmark knows nothing of ${pathname}` });
  const answer = {
    status: said === null ? 404 : 200,
    headers: { 'content-type': 'application/json', ...board.headers(pathname, searchParams, origin) },
    payload,
    etag: `"${createHash('sha1').update(payload).digest('hex')}"`,
  };
  made.set(key, answer);
  return answer;
}
