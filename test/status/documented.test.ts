import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { issueView } from '../../src/status/issue-view.js';
import { snapshotOf } from '../../src/status/snapshot.js';
import { workflowFacts } from '../../src/status/workflow-facts.js';
import { workflow } from '../support/builders.js';
import { Core } from '../support/core.js';

const DOCUMENT = readFileSync(new URL('../../docs/http.md', import.meta.url), 'utf8');

function keysOf(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(keysOf);
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, child]) => [key, ...keysOf(child)]);
}

/** One issue of every kind, so that no list is empty. */
function everything(): Core {
  const core = new Core({ agent: { maxConcurrentAgents: 5 } });
  core.put('A', 'B', 'C', 'D', 'E', 'F', { id: 'G', blocked_by: [{ id: 'A', identifier: 'A', state: 'Todo' }] });
  core.rateLimit = { remaining: 100, resetAtMs: core.now.wallMs + 60_000 };
  core.poll();
  const question = { id: 'q', kind: 'input', text: '?', fields: [{ id: 'f', label: 'l', options: [] }] } as const;
  core.signal('B', { type: 'asked', question });
  core.fail('C', 'turn_input_required', { question });
  core.fail('D', 'agent_unauthorized');
  core.fail('E');
  core.send({ type: 'pause_requested' });
  return core;
}

test('docs/http.md names every field of every answer', () => {
  const { state, now } = everything();
  const snapshot = snapshotOf(state, now, workflowFacts(workflow()));
  const views = ['A', 'B', 'C', 'E', 'F', 'G'].map((name) => issueView(state, now, name));

  expect(snapshot.counts).toEqual({ running: 2, asking: 1, retrying: 2, parked: 1, ready: 2, ineligible: 1 });
  const undocumented = keysOf([snapshot, ...views]).filter((key) => !DOCUMENT.includes(`\`${key}\``));
  expect([...new Set(undocumented)]).toEqual([]);
});
