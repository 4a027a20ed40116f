import type { OrchestratorEvent, ReadResult } from '../../src/domain/events.js';
import { cancelled } from '../../src/domain/outcome.js';
import type { Planted } from './planted.js';

/** Bugs in messages: from the tracker, from runs, from people, and on the way to the core. */
export const PLANTED_MESSAGES: readonly Planted[] = [
  {
    name: 'unknown is taken for gone',
    plant: {
      tracker: (tracker) => ({
        issuesByStates: (states, signal) => tracker.issuesByStates(states, signal),
        issuesByIds: async (ids, signal) => ({ ...(await tracker.issuesByIds(ids, signal)), unknown: [] }),
      }),
    },
  },
  {
    name: 'unknown is taken for gone in the read before a start',
    plant: {
      dispatch: (dispatch) => (event) =>
        dispatch(
          event.type === 'issues_read' && event.result.ok
            ? { ...event, result: { ...event.result, unknown: [] } }
            : event,
        ),
    },
  },
  {
    name: 'a refresh that failed is taken for an empty one',
    plant: {
      tracker: (tracker) => ({
        issuesByStates: (states, signal) => tracker.issuesByStates(states, signal),
        issuesByIds: (ids, signal) => tracker.issuesByIds(ids, signal).catch(() => ({ issues: [], unknown: [] })),
      }),
    },
  },
  {
    name: 'the second page of the candidates is forgotten',
    plant: {
      tracker: (tracker) => ({
        async issuesByStates(states, signal) {
          const batch = await tracker.issuesByStates(states, signal);
          return { ...batch, issues: batch.issues.slice(0, 4) };
        },
        issuesByIds: (ids, signal) => tracker.issuesByIds(ids, signal),
      }),
    },
  },
  {
    name: 'a tracker leaves fields out',
    plant: {
      tracker: (tracker) => ({
        async issuesByStates(states, signal) {
          const batch = await tracker.issuesByStates(states, signal);
          return JSON.parse(JSON.stringify(batch, (key, value) => (key === 'blocked_by' ? undefined : value)));
        },
        issuesByIds: (ids, signal) => tracker.issuesByIds(ids, signal),
      }),
    },
  },
  {
    name: 'the news of the poll before is told under a new number',
    plant: {
      dispatch(dispatch) {
        let before: ReadResult | null = null;
        return (event) => {
          if (event.type !== 'observed') return dispatch(event);
          const { observation } = event;
          const refresh = before?.ok && observation.refresh.ok ? before : observation.refresh;
          before = observation.refresh;
          dispatch({ type: 'observed', observation: { ...observation, refresh } });
        };
      },
    },
  },
  {
    name: 'the event of an old run is taken for one of the run of today',
    plant: {
      dispatch(dispatch, life) {
        const issues = new Map<string, string>();
        return (event) => {
          for (const [runId, issueId] of Object.entries(life.state?.runs ?? {})) issues.set(runId, issueId);
          if (!isAboutRun(event)) return dispatch(event);
          const issueId = issues.get(event.runId);
          const today = Object.entries(life.state?.runs ?? {}).find(([, id]) => id === issueId)?.[0];
          dispatch({ ...event, runId: today ?? event.runId });
        };
      },
    },
  },
  {
    name: 'a second exit of a run stops its issue',
    plant: {
      dispatch(dispatch, life) {
        const over = new Map<string, string>();
        return (event) => {
          if (event.type !== 'run_exited') return dispatch(event);
          const issueId = over.get(event.runId);
          if (issueId !== undefined) return dispatch({ type: 'stop_requested', issueId });
          over.set(event.runId, life.state?.runs[event.runId] ?? '');
          dispatch(event);
        };
      },
    },
  },
  {
    name: 'every report of tokens counts as that of a new thread',
    plant: {
      dispatch(dispatch) {
        let reports = 0;
        return (event) => {
          if (event.type !== 'run_signalled' || event.signal.type !== 'usage') return dispatch(event);
          reports += 1;
          dispatch({ ...event, signal: { ...event.signal, threadId: `${event.signal.threadId}-${reports}` } });
        };
      },
    },
  },
  {
    name: 'workspaces of an earlier life are forgotten',
    plant: {
      dispatch: (dispatch) => (event) => dispatch(event.type === 'started' ? { ...event, leftovers: [] } : event),
    },
  },
  {
    name: 'a clock that is set back is not told',
    plant: { dispatch: (dispatch) => (event) => (event.type === 'clock_set_back' ? undefined : dispatch(event)) },
  },
  {
    name: 'a run that outlives SIGKILL counts as exited',
    plant: {
      dispatch: (dispatch) => (event) => {
        if (event.type !== 'run_unkillable') return dispatch(event);
        dispatch({ type: 'run_exited', runId: event.runId, outcome: cancelled('shutdown') });
      },
    },
  },
  {
    name: 'the death of a daemon is forgotten when its run is closed',
    plant: {
      dispatch: (dispatch, life) => (event) => {
        const issueId = event.type === 'run_exited' ? life.state?.runs[event.runId] : undefined;
        const claimOf = () => life.state?.claims[issueId ?? ''];
        const isLeft = claimOf()?.live.run?.stage === 'left';
        dispatch(event);
        if (isLeft && claimOf()?.status.kind === 'waiting')
          dispatch({ type: 'retry_requested', issueId: issueId ?? '' });
      },
    },
  },
  {
    name: 'a pause is not heard',
    plant: { dispatch: (dispatch) => (event) => (event.type === 'pause_requested' ? undefined : dispatch(event)) },
  },
  {
    name: 'one exit in ten is lost',
    plant: {
      dispatch(dispatch) {
        let exits = 0;
        return (event) => {
          if (event.type === 'run_exited') exits += 1;
          if (event.type !== 'run_exited' || exits % 10 !== 0) dispatch(event);
        };
      },
    },
  },
  {
    name: 'the answer to a poll is lost once in fifty times',
    plant: {
      dispatch(dispatch) {
        let polls = 0;
        return (event) => {
          if (event.type === 'observed') polls += 1;
          if (event.type !== 'observed' || polls % 50 !== 0) dispatch(event);
        };
      },
    },
  },
  {
    name: 'the end of a removal is not told',
    plant: { dispatch: (dispatch) => (event) => (event.type === 'workspace_removed' ? undefined : dispatch(event)) },
  },
];

type AboutRun = Extract<OrchestratorEvent, { readonly runId: string }>;

function isAboutRun(event: OrchestratorEvent): event is AboutRun {
  return event.type === 'run_exited' || event.type === 'run_unkillable' || event.type === 'run_signalled';
}
