import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { issueView } from '../../src/api/issue-view.js';
import { issueShape, stateShape } from '../../src/api/schemas.js';
import { runRecord } from '../store/stored-samples.js';
import { everything, viewOf } from '../support/status-samples.js';

const DOCUMENT = readFileSync(new URL('../../docs/http.md', import.meta.url), 'utf8');

function keysOf(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(keysOf);
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, child]) => [key, ...keysOf(child)]);
}

const past = {
  records: [runRecord('r', 'A', 1)],
  seen: () => null,
  transcript: (runId: string) => `/state/${runId}`,
  workspace: '/workspaces/A',
  events: [{ at: null, event: 'agent', message: 'works' }],
};

test('answers have the shapes that are described, to the last member, and docs/http.md names each', () => {
  const core = everything();
  const snapshot = viewOf(core);
  const views = ['A', 'B', 'C', 'E', 'F', 'G', 'H'].map((name) => issueView(core.state, core.now, name, past));

  expect(snapshot.counts).toEqual({ running: 3, asking: 1, retrying: 2, parked: 1, ready: 1, ineligible: 1, done: 1 });
  expect(stateShape.parse(snapshot)).toEqual(snapshot);
  for (const view of views) expect(issueShape.parse(view)).toEqual(view);
  const undocumented = keysOf([snapshot, ...views]).filter((key) => !DOCUMENT.includes(`\`${key}\``));
  expect([...new Set(undocumented)]).toEqual([]);
});
