import { expect, test } from 'vitest';
import { formatSummary } from '../../src/cli/run-view.js';
import { failure } from '../../src/domain/outcome.js';
import { Core } from '../support/core.js';

function once(core: Core, only: string | null = null): Core {
  core.send({ type: 'started', leftovers: [], once: { only } });
  return core;
}

const one = { agent: { maxConcurrentAgents: 1 } } as const;

test('a run that was cut off is told as failed, and who had no turn as not started', () => {
  const core = once(new Core(one).put('A', 'B'));
  core.answerPoll();
  core.send({ type: 'shutdown_requested' });
  core.send({ type: 'shutdown_requested' });

  expect(formatSummary(core.state, core.now)).toBe(
    [
      '1 run, 1 failed.',
      '  ✗ A  INTERRUPTED: the daemon left before its end',
      '  – B  not started: no free slot: agent.max_concurrent_agents is 1',
      '',
    ].join('\n'),
  );
});

test('who had no turn because of a signal is told so', () => {
  const core = once(new Core(one).put('A', 'B'));
  core.answerPoll();
  core.send({ type: 'shutdown_requested' });
  core.exit('A', failure('INTERRUPTED', 'the daemon shuts down', { state: 'cancelled' }));

  expect(formatSummary(core.state, core.now)).toContain('  – B  not started: Baton was told to stop before its turn\n');
});

test('a spent quota is told once, and who waits for it', () => {
  const core = once(new Core().put('A'));
  core.rateLimit = { remaining: 0, resetAtMs: core.now.wallMs + 3_600_000 };
  core.answerPoll();

  expect(formatSummary(core.state, core.now)).toMatch(
    /^Nothing was started\.\nWhy: the tracker limits our requests until .*\n {2}– A {2}not started: see above\n$/,
  );
});

test('one whose file cannot be read is told as such, also when it was named', () => {
  const core = new Core().put('A');
  core.poll();
  core.fail('A');
  core.unknown.add('A');
  once(core, 'A');
  core.poll();
  core.answerReads();
  core.answerPoll();

  expect(formatSummary(core.state, core.now)).toBe(
    'A was not started.\n  – A  not started: the tracker could not tell how it stands\n',
  );
});
