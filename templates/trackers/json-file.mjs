#!/usr/bin/env node
// Issues from a JSON file, for `tracker.kind: command`: docs/trackers.md has the protocol. Copy it, and put your own tracker in the place
// of the file. Try it: baton tracker test 'node json-file.mjs board.json'
// board.json: {"states": ["Todo", "Done"], "issues": [{"id": "1", "identifier": "B-1", "title": "Try it", "state": "Todo"}]}
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

const file = process.argv[2] ?? 'board.json';
const key = (state) => state.trim().toLowerCase();
const isIn = (states) => (issue) => states.map(key).includes(key(issue.state));
const error = (code, message) => ({ error: { code, message } });

const methods = {
  describe: (_, { states }) => ({ result: { target: file, states, methods: Object.keys(methods) } }),
  issues_by_states: ({ states }, { issues }) => ({ result: { issues: issues.filter(isIn(states)) } }),
  issues_by_ids: ({ ids }, { issues }) => ({ result: { issues: issues.filter(({ id }) => ids.includes(String(id))) } }),
  comment({ issue_id, body }, board) {
    const said = { author: 'baton', body, created_at: new Date().toISOString() };
    return change(board, issue_id, ({ comments = [] }) => ({ comments: [...comments, said] }));
  },
  move({ issue_id, state }, board) {
    const to = board.states.find((each) => key(each) === key(state));
    return to ? change(board, issue_id, () => ({ state: to })) : error('refused', `There is no state ${state}.`);
  },
};

function change(board, id, edit) {
  const issue = board.issues.find((each) => String(each.id) === String(id));
  if (!issue) return error('not_found', `There is no issue ${id}.`);
  Object.assign(issue, edit(issue));
  writeFileSync(`${file}.new`, `${JSON.stringify(board, null, 2)}\n`);
  renameSync(`${file}.new`, file);
  return { result: {} };
}

for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line);
  const answer = methods[method]?.(params, JSON.parse(readFileSync(file, 'utf8'))) ?? error('unsupported');
  process.stdout.write(`${JSON.stringify({ id, ...answer })}\n`);
}
