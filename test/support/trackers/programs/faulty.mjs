// A good program with one fault, which argv[2] names.
import { spawn } from 'node:child_process';
import { appendFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { fail, issue, note, onRequest, reply, write } from './lines.mjs';

const [, , fault, dir] = process.argv;
const board = [issue('1'), issue('2', { state: 'Done' })];
const comments = [];
let answered = 0;
let asked = 0;

const key = (state) => (fault === 'compares states with their case' ? state : state.trim().toLowerCase());
const isIn = (states) => (each) => states.map(key).includes(key(each.state));
const STATES = { 'lists half its states': ['Done'], 'describes nonsense': 'Todo' };
const methods = {
  describe: () => ({ states: STATES[fault] ?? ['Todo', 'Done'] }),
  issues_by_states: ({ states }) => ({
    issues: fault === 'ignores the requested states' ? board : board.filter(isIn(states)),
  }),
  issues_by_ids({ ids }) {
    if (fault === 'sends all for no ids' && ids.length === 0) return { issues: board };
    if (fault === 'finds missing ids' && !ids.every((id) => /^\d$/.test(id))) return { issues: board };
    const issues = board.filter(({ id }) => ids.includes(fault === 'expects numbers as ids' ? Number(id) : id));
    return fault === 'reports missing ids as unknown'
      ? { issues, unknown: ids.filter((id) => !/^\d$/.test(id)) }
      : { issues };
  },
  comments: () => ({ comments: fault === 'has invalid comments' ? [{ text: 'hm' }] : comments }),
  comment({ issue_id, body }) {
    if (issue_id.length > 1 && fault !== 'comments on missing issues') return { error: { code: 'not_found' } };
    if (fault !== 'does not write comments') comments.push({ author: 'me', body });
    return {};
  },
  move({ issue_id, state }) {
    const found = board.find(({ id }) => id === issue_id);
    if (fault === 'moves only once' && state === 'Todo') return { error: { code: 'failed', message: 'one way' } };
    if (fault === 'refuses moves') return { error: { code: 'refused' } };
    if (fault !== 'does not move') found.state = fault === 'moves elsewhere' && state === 'Done' ? 'Doing' : state;
    return {};
  },
};
if (fault === 'sends an issue twice') board.push(issue('1'));
if (fault === 'omits a title') board[1].title = ' ';
if (fault === 'has invalid fields')
  Object.assign(board[0], { priority: 'high', labels: 'a,b', url: 'x', created_at: 7 });
if (fault === 'ends badly') {
  const child = spawn(process.execPath, ['-e', 'setTimeout(() => {}, 60_000)', dir], {
    detached: true,
    stdio: 'ignore',
  });
  child.unref();
  process.on('exit', () => writeSync(1, 'by the way\n'));
}
if (fault === 'never ends') setInterval(() => {}, 1_000);

onRequest(({ id, method, params }) => {
  if (method === 'comment' || method === 'move') {
    appendFileSync(join(dir, 'changes'), `${id} ${method} ${params.state ?? ''}\n`);
    if (fault === 'dies at changes unless it is new' && asked > 0) process.exit(1);
  }
  asked++;
  const answer = methods[method]?.(params);
  const own = fault === 'counts requests' ? ++answered : id;
  if (answer?.error) return write(`${JSON.stringify({ id, ...answer })}\n`);
  if (answer) return reply(own, answer);
  if (fault === 'is silent at unknown methods') return note('silent');
  if (fault === 'answers any method') return reply(id, {});
  fail(id, 'unsupported', 'unknown method');
});
