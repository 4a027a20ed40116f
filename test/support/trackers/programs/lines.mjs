// What the tracker programs of the tests share: requests in, answers out, and a log of what happened.
import { appendFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

export function onRequest(handle) {
  note('start');
  createInterface({ input: process.stdin, crlfDelay: Number.POSITIVE_INFINITY }).on('line', (line) => {
    const request = JSON.parse(line);
    note(request.method);
    handle(request);
  });
}

export function note(what) {
  if (process.env.LOG) appendFileSync(process.env.LOG, `${what}\n`);
}

export function issue(id, more = {}) {
  return { id, identifier: `X-${id}`, title: `Title ${id}`, state: 'Todo', ...more };
}

export function write(text, done) {
  process.stdout.write(text, done);
}

export function reply(id, result, done) {
  write(`${JSON.stringify({ id, result })}\n`, done);
}

export function fail(id, code, message, done) {
  write(`${JSON.stringify({ id, error: { code, message } })}\n`, done);
}

/** The board that most of them have. */
export function answerTo({ method, params }) {
  const board = [issue('1'), issue('2', { state: 'Done' })];
  const isAsked = ({ state }) => params.states.some((each) => each.toLowerCase() === state.toLowerCase());
  if (method === 'issues_by_states') return { issues: board.filter(isAsked) };
  if (method === 'issues_by_ids') return { issues: board.filter(({ id }) => params.ids.includes(id)) };
  return null;
}

export function replyDefault(request, done) {
  const result = answerTo(request);
  if (result) reply(request.id, result, done);
  else fail(request.id, 'unsupported', 'never heard of it', done);
}
