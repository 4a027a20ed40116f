import type { LiveRun, RunFacts } from '../src/domain/claim.js';
import type { Instant } from '../src/domain/clock.js';
import type { Config } from '../src/domain/config.js';

/** A run at its beginning, under the settings of that moment. */
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

/**
 * A run that an earlier daemon began. It is told to stop already, as by a shutdown, or as a person wished; what it left is being cleared
 * away.
 */
export function interruptedRun({ wish, startedAtMs }: RunFacts, config: Config): LiveRun {
  const begun = newLiveRun('left', 0, config, { awakeMs: 0, wallMs: startedAtMs });
  return { ...begun, phase: 'finishing', stop: wish === 'stop' ? 'operator' : 'shutdown' };
}

type Moment = Pick<Instant, 'awakeMs' | 'wallMs'>;

export function progressAt(now: Moment): Pick<LiveRun, 'lastProgressAwakeMs' | 'lastProgressAtMs'> {
  return { lastProgressAwakeMs: now.awakeMs, lastProgressAtMs: now.wallMs };
}

export function askingSince(now: Moment): Pick<LiveRun, 'askedAtAwakeMs' | 'askedAtMs'> {
  return { askedAtAwakeMs: now.awakeMs, askedAtMs: now.wallMs };
}

export const NOT_ASKING = { askedAtAwakeMs: null, askedAtMs: null };
