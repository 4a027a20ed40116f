import type { LiveRun } from '../src/domain/claim.js';
import type { Config } from '../src/domain/config.js';

/** A run at its beginning, under the settings of that moment. */
export function newLiveRun(stage: LiveRun['stage'], persistSeq: number, config: Config, awakeMs: number): LiveRun {
  return {
    stage,
    persistSeq,
    phase: 'preparing',
    step: null,
    lastProgressAwakeMs: awakeMs,
    openItems: 0,
    askedAtAwakeMs: null,
    hostCalls: 0,
    ownMove: null,
    grace: null,
    stop: null,
    retryAfter: false,
    session: null,
    limits: {
      stallTimeoutMs: config.codex.stallTimeoutMs,
      inputTimeoutMs: config.agent.inputTimeoutMs,
      onInputTimeout: config.agent.onInputTimeout,
      finishGraceMs: config.agent.finishGraceMs,
    },
  };
}

/** A run that an earlier daemon began. It is told to stop already, as by a shutdown; what it left is being cleared away. */
export function leftRun(config: Config): LiveRun {
  return { ...newLiveRun('left', 0, config, 0), phase: 'finishing', stop: 'shutdown' };
}
