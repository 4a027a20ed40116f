import type { Logger } from 'pino';
import type { State } from '../../orchestrator/state.js';
import type { Instant } from '../domain/clock.js';
import { lineUp } from '../api/start-order.js';
import { whyIdle } from '../api/why-idle.js';

/** Times change with every poll; a reason that differs in nothing else is the same. */
const TIMES = /\d{4}-\d\d-\d\dT[\d:.]+Z/g;

/**
 * Says why nothing happens, once for each reason and only after a reading of the tracker: silence after "started" is what a person
 * wonders about most. Holds, failed polls and issues that wait have lines of their own.
 */
export function createIdleLog(log: Logger): (state: State, now: Instant) => void {
  let said = '';
  return (state, now) => {
    if (state.once !== null || state.shutdown !== null || state.poll.failure !== null) return;
    if (Object.keys(state.holds).length > 0) return;
    if (Object.values(state.claims).some(({ status }) => status.kind === 'waiting')) return;
    const why = whyIdle(state, now, lineUp(state, now));
    const reason = why?.replace(TIMES, '') ?? '';
    // What was decided is told after this: first what happened, such as that an issue is done, then that there is nothing more.
    if (why !== null && reason !== said) queueMicrotask(() => log.info({ detail: why }, 'nothing to start'));
    said = reason;
  };
}
