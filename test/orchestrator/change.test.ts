import { describe, expect, test } from 'vitest';
import type { Issue } from '../../src/domain/issue.js';
import { Core, started, starts, stops } from '../support/core.js';

const BLOCKER = { id: 'B', identifier: 'B', state: 'Done' };

const CHANGES: [string, Partial<Issue>][] = [
  ['its state', { state: 'In Progress' }],
  ['its title', { title: 'another' }],
  ['its description', { description: 'clearer' }],
  ['its labels', { labels: ['baton', 'urgent'] }],
  ['its priority', { priority: 1 }],
  ['a blocker', { blocked_by: [BLOCKER] }],
];

const NO_CHANGES: [string, Partial<Issue>][] = [
  ['a comment', { comments: [{ author: 'x', body: 'y', created_at: null }] }],
  ['its updated_at', { updated_at: '2030-01-01T00:00:00.000Z' }],
  ['the order of its labels', { labels: ['b', 'a'] }],
  ['the spelling of its state', { state: ' todo ' }],
  ['its url', { url: 'https://example.org/1' }],
  ['its assignee', { assignee_id: 'someone' }],
];

const put = (core: Core) => core.put({ id: 'A', labels: ['a', 'b'] });

describe('what counts as a change of an issue', () => {
  test.each(CHANGES)('%s: a run that changed it made progress', (_, change) => {
    const core = put(new Core());
    core.poll();
    core.change('A', change);

    core.finish('A');

    expect(core.claim('A').idleRuns).toBe(0);
    expect(core.standing('A')).toBe('running');
  });

  test.each(NO_CHANGES)('not %s', (_, change) => {
    const core = put(new Core());
    core.poll();
    core.change('A', change);

    core.finish('A');

    expect(core.claim('A').idleRuns).toBe(1);
    expect(core.standing('A')).toBe('waiting');
  });

  test.each(CHANGES)('%s frees a parked issue', (_, change) => {
    const core = put(new Core({ agent: { maxAttempts: 1 } }));
    core.poll();
    core.fail('A');
    core.change('A', change);

    expect(started(core.poll())).toEqual(['A']);
  });

  test('a parked issue that gets an open blocker is released, and starts again when the blocker is done', () => {
    const core = put(new Core({ agent: { maxAttempts: 1 } }));
    core.poll();
    core.fail('A');
    core.change('A', { blocked_by: [{ ...BLOCKER, state: 'Todo' }] });

    expect(started(core.poll())).toEqual([]);
    core.change('A', { blocked_by: [BLOCKER] });

    expect(started(core.poll())).toEqual(['A']);
  });
});

describe('after a normal exit', () => {
  test('the issue counts as idle only after the continuation delay, because a change may become visible late', () => {
    const core = put(new Core());
    core.poll();
    core.exit('A');
    core.nowMs += 500;

    core.poll();

    expect(core.claim('A').idleRuns).toBe(0);
    core.change('A', { title: 'another' });
    core.advance(500);
    expect(starts(core.answerReads())).toMatchObject([{ reason: 'continuation' }]);
  });
});

describe('finish grace', () => {
  test('ends when the issue that the agent moved is gone', () => {
    const core = put(new Core());
    core.poll();
    core.signal('A', { type: 'phase', phase: 'agent' });
    core.signal('A', { type: 'moved_issue', state: 'Done' });
    core.change('A', { state: 'Done' });
    expect(stops(core.poll())).toEqual([]);
    core.board.delete('A');

    expect(stops(core.poll())).toEqual(['gone']);
  });

  test('moving the issue is progress', () => {
    const core = put(new Core());
    core.poll();
    core.signal('A', { type: 'phase', phase: 'agent' });
    core.advance(299_000);
    core.signal('A', { type: 'moved_issue', state: 'In Progress' });

    expect(stops(core.advance(299_999))).toEqual([]);
  });
});

describe('a changed workflow', () => {
  test('frees an issue that was parked for configuration', () => {
    const core = put(new Core({ agent: { maxAttempts: 1 } }));
    core.poll();
    core.fail('A');
    const claim = core.claim('A');
    const status = { ...core.status('A', 'parked'), reason: 'configuration' } as const;
    core.state = { ...core.state, claims: { A: { ...claim, status } } };

    core.send({ type: 'config_changed', config: core.state.config, workflowHash: 'hash-2' });

    expect(started(core.answerReads())).toEqual(['A']);
  });

  test('brings the next poll forward when its interval is shorter, and never delays it', () => {
    const core = new Core();
    core.poll();
    const withInterval = (intervalMs: number) => ({ ...core.state.config, polling: { intervalMs } });

    core.send({ type: 'config_changed', config: withInterval(5_000), workflowHash: 'hash-2' });
    expect(core.state.poll.nextAtMs - core.now.wallMs).toBe(5_000);
    core.send({ type: 'config_changed', config: withInterval(60_000), workflowHash: 'hash-3' });
    expect(core.state.poll.nextAtMs - core.now.wallMs).toBe(5_000);
  });
});
