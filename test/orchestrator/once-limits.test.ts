import { expect, test } from 'vitest';
import { onceExitCode } from '../../orchestrator/once.js';
import { Core, ofType } from '../support/core.js';

const HOUR = 3_600_000;

function begun(limitedUntilMs?: number): Core {
  const core = new Core().put('A');
  const limit = limitedUntilMs === undefined ? {} : { limitedUntilMs };
  core.send({ type: 'started', leftovers: [], once: { only: null }, ...limit });
  return core;
}

/** The regular poll is on its way when the only run ends. */
function endedDuringPoll(): Core {
  const core = begun();
  core.answerPoll();
  core.advance(31_000);
  core.exit('A');
  return core;
}

test('--once exits with 1 at once when the tracker limits it before its first poll', () => {
  const core = begun(new Core().now.wallMs + 24 * HOUR);

  expect(core.state.shutdown).not.toBeNull();
  expect(onceExitCode(core.state)).toBe(1);
});

test('an existing rate limit is logged at every start', () => {
  const core = new Core();

  const effects = core.send({ type: 'started', leftovers: [], limitedUntilMs: core.now.wallMs + HOUR });

  expect(ofType(effects, 'note').map(({ note }) => [note.level, note.message, note.fields])).toEqual([
    ['warn', 'tracker limits our requests, waiting for the reset', { resets_in_s: 3_600 }],
  ]);
});

test('a rejected final poll is not waited for', () => {
  const core = endedDuringPoll();
  const resetAtMs = core.now.wallMs + 24 * HOUR;
  const refused = { ok: false, code: 'tracker_rate_limited', message: 'later', resetAtMs } as const;

  core.answerPoll({ refresh: refused, candidates: refused });

  expect(core.state.shutdown).not.toBeNull();
});

test('a final poll without remaining quota is not waited for', () => {
  const core = endedDuringPoll();
  core.rateLimit = { remaining: 0, resetAtMs: core.now.wallMs + HOUR };

  core.answerPoll();

  expect(core.state.shutdown).not.toBeNull();
});
