import type { LiveRun, RunFacts } from '../src/domain/claim.js';
import type { Instant } from '../src/domain/clock.js';
import type { Config } from '../src/domain/config.js';

/** A new run with the settings of this moment. */
export function newLiveRun(stage: LiveRun['stage'], persistSeq: number, config: Config, now: Moment): LiveRun {
  return {
    stage,
    persistSeq,
    phase: 'preparing',
    step: null,
    ...progressAt(now),
    openItems: 0,
    askedAtAwakeMs: null,
    askedAtMs: null,
    hostCalls: 0,
    ownMove: null,
    grace: null,
    stop: null,
    session: null,
    limits: {
      stallTimeoutMs: config.codex.stallTimeoutMs,
      inputTimeoutMs: config.agent.inputTimeoutMs,
      onInputTimeout: config.agent.onInputTimeout,
      finishGraceMs: config.agent.finishGraceMs,
    },
  };
}

/** A run that an earlier daemon started. It counts as stopping, by a shutdown or by the operator, while its remains are cleaned up. */
export function interruptedRun({ requestedAfterExit, startedAtMs }: RunFacts, config: Config): LiveRun {
  const live = newLiveRun('left', 0, config, { awakeMs: 0, wallMs: startedAtMs });
  return { ...live, phase: 'finishing', stop: requestedAfterExit === 'stop' ? 'operator' : 'shutdown' };
}

type Moment = Pick<Instant, 'awakeMs' | 'wallMs'>;

export function progressAt(now: Moment): Pick<LiveRun, 'lastProgressAwakeMs' | 'lastProgressAtMs'> {
  return { lastProgressAwakeMs: now.awakeMs, lastProgressAtMs: now.wallMs };
}

export function askingSince(now: Moment): Pick<LiveRun, 'askedAtAwakeMs' | 'askedAtMs'> {
  return { askedAtAwakeMs: now.awakeMs, askedAtMs: now.wallMs };
}

export const NOT_ASKING = { askedAtAwakeMs: null, askedAtMs: null };
