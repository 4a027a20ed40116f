// A good program but for one thing, which argv[2] names.
import { spawn } from 'node:child_process';
import { appendFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { fail, issue, note, onQuestion, reply, write } from './lines.mjs';

const [, , fault, dir] = process.argv;
const board = [issue('1'), issue('2', { state: 'Done' })];
const said = [];
let answered = 0;
let asked = 0;

const key = (state) => (fault === 'knows no letters' ? state : state.trim().toLowerCase());
const isIn = (states) => (each) => states.map(key).includes(key(each.state));
const STATES = { 'tells half its states': ['Done'], 'describes nonsense': 'Todo' };
const methods = {
  describe: () => ({ states: STATES[fault] ?? ['Todo', 'Done'] }),
  issues_by_states: ({ states }) => ({ issues: fault === 'sends everything' ? board : board.filter(isIn(states)) }),
  issues_by_ids({ ids }) {
    if (fault === 'sends all for no ids' && ids.length === 0) return { issues: board };
    if (fault === 'finds what is not there' && !ids.every((id) => /^\d$/.test(id))) return { issues: board };
    const issues = board.filter(({ id }) => ids.includes(fault === 'counts ids' ? Number(id) : id));
    return fault === 'is never sure' ? { issues, unknown: ids.filter((id) => !/^\d$/.test(id)) } : { issues };
  },
  comments: () => ({ comments: fault === 'has odd comments' ? [{ text: 'hm' }] : said }),
  comment({ issue_id, body }) {
    if (issue_id.length > 1 && fault !== 'comments anywhere') return { error: { code: 'not_found' } };
    if (fault !== 'forgets comments') said.push({ author: 'me', body });
    return {};
  },
  move({ issue_id, state }) {
    const found = board.find(({ id }) => id === issue_id);
    if (fault === 'goes one way' && state === 'Todo') return { error: { code: 'failed', message: 'one way' } };
    if (fault === 'refuses moves') return { error: { code: 'refused' } };
    if (fault !== 'moves nothing') found.state = fault === 'moves elsewhere' && state === 'Done' ? 'Doing' : state;
    return {};
  },
};
if (fault === 'sends one twice') board.push(issue('1'));
if (fault === 'forgets a title') board[1].title = ' ';
if (fault === 'has odd fields') Object.assign(board[0], { priority: 'high', labels: 'a,b', url: 'x', created_at: 7 });
if (fault === 'parts badly') {
  const child = spawn(process.execPath, ['-e', 'setTimeout(() => {}, 60_000)', dir], {
    detached: true,
    stdio: 'ignore',
  });
  child.unref();
  process.on('exit', () => writeSync(1, 'by the way\n'));
}
if (fault === 'stays for ever') setInterval(() => {}, 1_000);

onQuestion(({ id, method, params }) => {
  if (method === 'comment' || method === 'move') {
    appendFileSync(join(dir, 'changes'), `${id} ${method} ${params.state ?? ''}\n`);
    if (fault === 'dies at changes unless it is new' && asked > 0) process.exit(1);
  }
  asked++;
  const answer = methods[method]?.(params);
  const own = fault === 'counts requests' ? ++answered : id;
  if (answer?.error) return write(`${JSON.stringify({ id, ...answer })}\n`);
  if (answer) return reply(own, answer);
  if (fault === 'is silent at what it does not know') return note('silent');
  if (fault === 'answers anything') return reply(id, {});
  fail(id, 'unsupported', 'never heard of it');
});
