import fc from 'fast-check';
import { expect, test } from 'vitest';
import { codeLabel } from '../../src/api/metrics.js';
import { HOLD_SOURCES, PARK_REASONS } from '../../src/domain/claim.js';
import { ERRORS } from '../../src/domain/error-table.js';
import type { ErrorCode } from '../../src/domain/errors.js';
import { cancelled, failure } from '../../src/domain/outcome.js';
import { CountedCore, type Told } from './metrics-text.js';

/** Whatever people call their issues. */
const IDS = ['A', '"} 1\nbaton_paused{a="', 'back\\slash', '{{ 7 }}', 'a'.repeat(300)];
const CODES: ErrorCode[] = ['turn_failed', 'agent_quota', 'turn_input_required', 'port_exit'];
const DOWN = { ok: false, code: 'tracker_request', message: 'down' } as const;

const ALLOWED: { readonly [label: string]: readonly string[] } = {
  state: ['running', 'asking', 'retrying', 'parked', 'ready', 'ineligible'],
  reason: PARK_REASONS,
  source: HOLD_SOURCES,
  outcome: ['success', 'failed', 'timeout', 'cancelled'],
  code: ['', ...Object.keys(ERRORS)],
  kind: ['approval', 'input'],
  how: ['done', 'handed_over'],
  result: ['ok', 'failed'],
  type: ['input', 'cached_input', 'output'],
  quantile: ['0.5', '0.99', '1'],
  version: ['1.2.3'],
  node: [process.versions.node],
};

/** A step is two numbers; the world makes of them whatever is possible at that moment. */
function step(core: CountedCore, kind: number, n: number): void {
  const id = IDS[n % IDS.length] ?? 'A';
  const isRunning = core.state.claims[id]?.status.kind === 'running';
  const code = CODES[n % CODES.length] ?? 'turn_failed';
  if (kind === 0) core.advance(n * 977);
  else if (kind === 1)
    core.change(id, { state: ['Todo', 'In Progress', 'Review', 'Done'][n % 4] ?? 'Todo', title: id });
  else if (kind === 2) pollOnce(core, n);
  else if (kind === 3 && core.state.read) core.answerRead();
  else if (kind === 4) core.send({ type: n % 2 === 0 ? 'pause_requested' : 'resume_requested' });
  else if (kind === 5) core.send({ type: n % 2 === 0 ? 'stop_requested' : 'retry_requested', issueId: id });
  else if (!isRunning) return;
  else if (kind === 6) core.usage(id, `thread-${n % 3}`, n * 10, n, n * 5);
  else if (kind === 7) core.exit(id);
  else if (kind === 8) core.exit(id, failure(code, id, { state: n % 3 === 0 ? 'timeout' : 'failed' }));
  else if (kind === 9) core.exit(id, cancelled(n % 2 === 0 ? 'stalled' : 'shutdown'));
  else if (kind === 10) core.signal(id, { type: 'asked', question: { id, kind: 'input', text: id, fields: [] } });
  else if (kind === 11) core.send({ type: 'answer_given', issueId: id, questionId: id, answer: { kind: 'decline' } });
  else core.signal(id, { type: 'phase', phase: 'agent' });
}

function pollOnce(core: CountedCore, n: number): void {
  if (core.state.poll.inFlightSeq === null) core.send({ type: 'refresh_requested' });
  core.answerPoll(n % 5 === 0 ? { refresh: DOWN } : {});
}

/** Everything that may only grow. */
function counted({ families, samples }: Told): Map<string, number> {
  const typeOf = (name: string) =>
    (families.get(name) ?? families.get(name.replace(/_(bucket|sum|count)$/, '')))?.type ?? 'none';
  return new Map(samples.filter(({ name }) => typeOf(name) !== 'gauge').map(({ key, value }) => [key, value]));
}

test('whatever happens: counters never fall, labels come from our own lists, and the sums are right', async () => {
  const history = fc.array(fc.tuple(fc.nat(12), fc.nat(999)), { minLength: 1, maxLength: 60 });
  await fc.assert(
    fc.asyncProperty(history, async (steps) => {
      const core = new CountedCore({ agent: { maxConcurrentAgents: 3, maxAttempts: 2, maxTokensPerDay: 60_000 } });
      core.put(...IDS);
      let before = new Map<string, number>();
      for (const [index, [kind, n]] of steps.entries()) {
        step(core, kind, n);
        if (index % 10 !== 0 && index !== steps.length - 1) continue;

        const told = await core.look();

        const after = counted(told);
        for (const [key, value] of before) expect(after.get(key), key).toBeGreaterThanOrEqual(value);
        before = after;
        for (const { labels, name } of told.samples) {
          for (const [label, value] of Object.entries(labels))
            if (label !== 'le') expect(ALLOWED[label], `${name}{${label}}`).toContain(value);
        }
        const { claims, candidates } = core.state;
        expect(told.sum('baton_issues')).toBe(Object.keys(claims).length + Object.keys(candidates).length);
        expect(told.sum('baton_issues_parked')).toBe(told.value('baton_issues{state="parked"}'));
        expect(told.sum('baton_runs_total')).toBe(endedRuns(core));
      }
      core.metrics.close();
    }),
    { numRuns: 60 },
  );
});

test('a code that is none of ours has no label of its own', () => {
  expect(['turn_failed', null, 'made up', 'constructor'].map(codeLabel)).toEqual(['turn_failed', '', 'other', 'other']);
});

/** As they were told to the store. */
function endedRuns(core: CountedCore): number {
  const records = core.effects.flatMap((effect) => (effect.type === 'persist' ? effect.change.runs : []));
  return new Set(records.filter(({ end }) => end !== null).map(({ runId }) => runId)).size;
}
