import type { OrchestratorEvent, ReadResult } from '../../src/domain/events.js';
import { failure, type Outcome } from '../../src/domain/outcome.js';
import type { RateLimit } from '../../src/domain/ports.js';
import type { Planted } from './planted.js';

/** Bugs in the handling of rate limits and unreadable trackers. */
export const LIMITS: readonly Planted[] = [
  {
    name: 'the reset of a limit is lost on its way from the tracker',
    plant: { dispatch: (dispatch) => (event) => dispatch(withReads(event, ({ resetAtMs: _, ...rest }) => rest)) },
  },
  {
    name: 'the reset of a limit is read in seconds',
    plant: {
      dispatch: (dispatch) => (event) => dispatch(withReads(event, (one) => ({ ...one, ...inSeconds(one.resetAtMs) }))),
    },
  },
  {
    name: 'the reset that a run was named is lost',
    plant: { dispatch: (dispatch) => (event) => dispatch(withEnd(event, 'tracker_rate_limited', forgotten)) },
  },
  {
    name: 'a webhook counts as the wish of a person',
    plant: {
      dispatch: (dispatch) => (event) =>
        dispatch(event.type === 'change_announced' ? { type: 'refresh_requested' } : event),
    },
  },
  {
    name: 'a run that met a limit counts as failed',
    plant: {
      dispatch: (dispatch) => (event) =>
        dispatch(withEnd(event, 'tracker_rate_limited', () => failure('turn_failed', 'too many requests'))),
    },
  },
  {
    name: 'comments that cannot be read count as a crash of the agent',
    plant: {
      dispatch: (dispatch) => (event) =>
        dispatch(withEnd(event, 'tracker_request', () => failure('port_exit', 'no comments'))),
    },
  },
  {
    name: 'the cap of the backoff is read in seconds',
    plant: {
      config: (config) => ({
        ...config,
        agent: { ...config.agent, maxRetryBackoffMs: config.agent.maxRetryBackoffMs / 1000 },
      }),
    },
  },
  {
    name: 'a low quota is never told to be better',
    plant: {
      dispatch(dispatch) {
        let low: RateLimit | undefined;
        return (event) => {
          if (event.type !== 'observed' || !event.observation.candidates.ok) return dispatch(event);
          const { observation } = event;
          low ??= event.observation.candidates.rateLimit;
          if (!low) return dispatch(event);
          const rateLimit = { ...low, remaining: 10, resetAtMs: Number.MAX_SAFE_INTEGER };
          const candidates = { ...event.observation.candidates, rateLimit };
          dispatch({ ...event, observation: { ...observation, candidates } });
        };
      },
    },
  },
];

type Failed = Extract<ReadResult, { ok: false }>;

function withReads(event: OrchestratorEvent, change: (failed: Failed) => Failed): OrchestratorEvent {
  const changed = (result: ReadResult) => (result.ok ? result : change(result));
  if (event.type === 'issues_read') return { ...event, result: changed(event.result) };
  if (event.type !== 'observed') return event;
  const { refresh, candidates } = event.observation;
  return {
    ...event,
    observation: { ...event.observation, refresh: changed(refresh), candidates: changed(candidates) },
  };
}

function withEnd(event: OrchestratorEvent, code: string, change: () => Outcome): OrchestratorEvent {
  if (event.type !== 'run_exited' || event.outcome.state === 'success') return event;
  return event.outcome.error.code === code ? { ...event, outcome: change() } : event;
}

function forgotten(): Outcome {
  return failure('tracker_rate_limited', 'too many requests');
}

function inSeconds(resetAtMs: number | undefined): { resetAtMs?: number } {
  return resetAtMs === undefined ? {} : { resetAtMs: resetAtMs / 1000 };
}
