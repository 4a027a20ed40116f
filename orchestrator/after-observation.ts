import type { Instant } from '../src/domain/clock.js';
import type { Observation } from '../src/domain/events.js';
import { Draft } from './draft.js';
import { observed } from './observe.js';
import type { State } from './state.js';

/** The state as a poll would leave it, before anything is started: what would come of it can then be told instead of done. */
export function afterObservation(state: State, observation: Observation, now: Instant): State {
  const draft = new Draft({ ...state, poll: { ...state.poll, inFlightSeq: observation.seq } });
  observed(draft, observation, now);
  return draft.state;
}
