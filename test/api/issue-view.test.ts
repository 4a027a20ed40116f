import { describe, expect, test } from 'vitest';
import { RULES } from '../../orchestrator/eligibility.js';
import { type IssuePast, issueView } from '../../src/api/issue-view.js';
import type { RunRecord } from '../../src/domain/durable.js';
import { runRecord } from '../store/stored-samples.js';
import { Core } from '../support/core.js';

// biome-ignore lint/suspicious/noExplicitAny: what arrives has no type, which is what a contract test is about.
const view = (core: Core, name: string, records: readonly RunRecord[] = [], more: Partial<IssuePast> = {}): any => {
  const transcript = (runId: string) => `/state/transcripts/${runId}.jsonl`;
  const past = { records, seen: () => null, transcript, workspace: null, events: [], ...more };
  return JSON.parse(JSON.stringify(issueView(core.state, core.now, name, past)));
};

describe('one issue', () => {
  test('that may not start has every rule, passed or failed with its sentence', () => {
    const blocker = { id: 'Z', identifier: 'Z', state: 'Todo' };
    const core = new Core().put({ id: 'A', blocked_by: [blocker] });
    core.poll();

    const { status, ready, rules, runs, blocked_by } = view(core, 'A');
    expect(status).toBe('ineligible');
    expect(ready).toBe(false);
    expect(runs).toBe(0);
    expect(blocked_by).toEqual([blocker]);
    expect(rules.map(({ rule }: { rule: string }) => rule)).toEqual(
      expect.arrayContaining(RULES.map(({ name }) => name).filter((name) => name !== 'not_claimed')),
    );
    expect(rules.filter(({ pass }: { pass: boolean }) => !pass)).toMatchObject([
      { rule: 'not_blocked', why: 'it waits for Z (Todo)' },
    ]);
  });

  test('that can start has the reason for which it waits', () => {
    const core = new Core({ agent: { maxConcurrentAgents: 1 } }).put('A', 'B');
    core.poll();

    expect(view(core, 'B')).toMatchObject({
      status: 'ready',
      ready: true,
      why_not_started: 'no free slot: agent.max_concurrent_agents is 1',
    });
  });

  test("has what the specification of OpenAI's Symphony suggests", () => {
    const core = new Core().put('A', 'B', 'C', 'D');
    core.poll();
    core.fail('B');
    core.send({ type: 'stop_requested', issueId: 'C' });
    core.fail('C', 'STOPPED_BY_OPERATOR');

    const events = [{ at: '2026-07-01T00:00:00.000Z', event: 'command', message: 'npm test' }];
    expect(view(core, 'A', [runRecord('r/1', 'A', 1)], { workspace: '/ws/A', events })).toMatchObject({
      workspace: { path: '/ws/A' },
      attempts: { restart_count: 0, current_retry_attempt: 0 },
      retry: null,
      logs: {
        codex_session_logs: [
          { label: 'run 1', path: '/state/transcripts/r/1.jsonl', url: '/api/v1/issues/A/transcript?run=r%2F1' },
        ],
      },
      recent_events: events,
      last_error: null,
      tracked: {},
    });
    expect(view(core, 'B')).toMatchObject({
      workspace: null,
      retry: { attempt: 1, error: expect.stringContaining('turn_failed') },
      attempts: { restart_count: 0, current_retry_attempt: 1 },
      last_error: expect.stringContaining('turn_failed'),
    });
    expect(view(core, 'C')).toMatchObject({ last_error: 'stopped by an operator' });

    core.advance(60_000);
    core.answerRead();
    core.fail('B');
    expect(view(core, 'B')).toMatchObject({ attempts: { restart_count: 1, current_retry_attempt: 2 } });
  });

  test('that runs, asks, waits or is parked has the entry of its list', () => {
    const core = new Core().put('A', 'B', 'C', 'D');
    core.poll();
    core.signal('B', { type: 'asked', question: { id: 'q', kind: 'approval', text: 'rm?', fields: [] } });
    core.fail('C');
    core.send({ type: 'stop_requested', issueId: 'D' });
    core.fail('D', 'STOPPED_BY_OPERATOR');

    expect(view(core, 'A')).toMatchObject({ status: 'running', asking: null, running: { run_number: 1 } });
    expect(view(core, 'B')).toMatchObject({ status: 'asking', asking: { questions: [{ id: 'q' }] } });
    expect(view(core, 'C')).toMatchObject({
      status: 'retrying',
      ready: false,
      retrying: { error_code: 'turn_failed' },
    });
    expect(view(core, 'D')).toMatchObject({ status: 'parked', parked: { reason: 'stopped_by_operator' } });
  });

  test('is found by its identifier before another that has this as its id', () => {
    const core = new Core().put({ id: '1', identifier: '2' }, { id: '2', identifier: '3' });
    core.poll();

    expect(view(core, '2').issue_id).toBe('1');
    expect(view(core, '1').issue_id).toBe('1');
  });

  test.each(['X', '', '..', '../', '__proto__', 'constructor', 'toString'])('%j is none', (name) => {
    const core = new Core().put('A');
    core.poll();

    expect(view(core, name)).toBeNull();
  });
});
