// A tracker in the form of Linear on loopback, in its own process. Its first line is its address. `/done/<identifier>` moves an issue to
// Done, `/times` tells when the first list was read and when each issue was done, in milliseconds since the epoch.
//   node test/bench/burst-tracker.mjs <issues>
import { createServer } from 'node:http';
import { now } from './measure.mjs';
import { BOARDS } from './tracker-boards.mjs';

const count = Number(process.argv[2]);
const board = BOARDS.linear(count);
const all = board.answer(null, null, null, { variables: { filter: {}, after: 0, first: count } }).data.issues.nodes;
const byId = new Map(all.map((issue) => [issue.id, issue]));
const byIdentifier = new Map(all.map((issue) => [issue.identifier, issue]));
const times = { listed: null, done: [] };

function answer({ query, variables }) {
  if (query.includes('BatonComments')) return { data: { issue: { id: variables.id, one: none(), other: none() } } };
  if (variables.filter === undefined) return board.answer(null, null, null, { variables });
  const conditions = JSON.stringify(variables.filter);
  const ids = [...conditions.matchAll(/"in":\[([^\]]*)\]/g)].flatMap(([, list]) => JSON.parse(`[${list}]`));
  if (ids.length === 0) times.listed ??= now();
  const wanted = ids.length > 0 ? ids.map((id) => byId.get(id)) : all.filter(({ state }) => state.name === 'Todo');
  const from = Number(variables.after ?? 0);
  const end = Math.min(wanted.length, from + variables.first);
  const pageInfo = { hasNextPage: end < wanted.length, endCursor: String(end) };
  return { data: { projects: { nodes: [{ id: 'p' }] }, issues: { nodes: wanted.slice(from, end), pageInfo } } };
}

function none() {
  return { nodes: [] };
}

const server = createServer((request, response) => {
  const [, path, name] = request.url.split('/');
  if (path === 'times') return response.end(JSON.stringify(times));
  if (path === 'done') {
    times.done.push(now());
    const issue = byIdentifier.get(name);
    if (issue) issue.state = { name: 'Done' };
    return response.end();
  }
  const chunks = [];
  request.on('data', (chunk) => chunks.push(chunk));
  request.on('end', () => {
    response.writeHead(200, { 'content-type': 'application/json', ...board.headers() });
    response.end(JSON.stringify(answer(JSON.parse(Buffer.concat(chunks)))));
  });
});
server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}`));
process.stdin.resume().on('end', () => process.exit(0));
