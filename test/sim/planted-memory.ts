import type { State } from '../../orchestrator/state.js';
import type { DurableChange } from '../../src/domain/durable.js';
import type { Planted } from './planted.js';

/** Bugs in storing and restoring. */
export const STORE_AND_RESTART: readonly Planted[] = [
  {
    name: 'the claim of a run is not stored',
    plant: {
      store: (store) => ({
        ...store,
        write: (...changes) => store.write(...changes.filter((change) => !hasRun(change))),
      }),
    },
  },
  {
    name: 'a write counts as safe when it is ordered',
    plant: {
      store: (store) => ({
        ...store,
        write(...changes) {
          store.write(...changes).catch(() => {});
          return Promise.resolve();
        },
      }),
    },
  },
  {
    name: 'what does not run is stored lazily, half a second after it counts as safe',
    plant: {
      store: (store, life) => ({
        ...store,
        write(...changes) {
          if (changes.some((change) => hasRun(change) || change.full)) return store.write(...changes);
          life.clock?.after(500, () => void store.write(...changes).catch(() => {}));
          return Promise.resolve();
        },
      }),
    },
  },
  {
    name: 'a failed write counts as stored',
    plant: {
      dispatch: (dispatch) => (event) =>
        dispatch(event.type === 'persist_failed' ? { type: 'persisted', seq: event.seq } : event),
    },
  },
  {
    name: 'a released claim stays on the disk',
    plant: {
      store: (store) => ({
        ...store,
        write(...changes) {
          for (const change of changes) {
            const kept = Object.entries(change.claims).filter(([, claim]) => claim !== null);
            Object.assign(change, { claims: Object.fromEntries(kept) });
          }
          return store.write(...changes);
        },
      }),
    },
  },
  {
    name: 'the end of a run is not recorded',
    plant: {
      store: (store) => ({
        ...store,
        write(...changes) {
          for (const change of changes) Object.assign(change, { runs: change.runs.filter(({ end }) => end === null) });
          return store.write(...changes);
        },
      }),
    },
  },
  { name: 'ids of runs begin anew in every life', plant: { restore: (state) => ({ ...state, instance: 'daemon' }) } },
  {
    name: 'every other life has the same ids of runs',
    plant: {
      restore: (state) => ({ ...state, instance: `life-${Number(/\d+$/.exec(state.instance)?.[0] ?? 0) % 2}` }),
    },
  },
  {
    name: 'numbers of runs are forgotten at a restart',
    plant: { restore: (state, fresh) => ({ ...state, records: fresh.records }) },
  },
  {
    name: 'retries are forgotten at a restart',
    plant: { restore: (state) => withClaims(state, (claim) => (claim.status.kind === 'waiting' ? null : claim)) },
  },
  {
    name: 'retries are due at once after a restart',
    plant: {
      restore: (state) =>
        withClaims(state, (claim) =>
          claim.status.kind === 'waiting' ? { ...claim, status: { ...claim.status, dueAtMs: 0 } } : claim,
        ),
    },
  },
  {
    name: 'failures are forgotten at a restart',
    plant: { restore: (state) => withClaims(state, (claim) => ({ ...claim, failures: 0 })) },
  },
  {
    name: 'deaths of the daemon are forgotten at a restart',
    plant: { restore: (state) => withClaims(state, (claim) => ({ ...claim, daemonDeaths: 0 })) },
  },
  {
    name: 'runs are forgotten at a restart',
    plant: {
      restore: (state) => ({
        ...withClaims(state, (claim) => (claim.status.kind === 'running' ? null : claim)),
        runs: {},
      }),
    },
  },
  {
    name: 'a run comes back without its live half',
    plant: { restore: (state) => withClaims(state, (claim) => ({ ...claim, live: { ...claim.live, run: null } })) },
  },
  { name: 'holds are forgotten at a restart', plant: { restore: (state) => ({ ...state, holds: {} }) } },
  { name: 'a pause is forgotten at a restart', plant: { restore: (state) => ({ ...state, pausedSinceMs: null }) } },
  {
    name: 'the spending of the day is forgotten at a restart',
    plant: { restore: (state, fresh) => ({ ...state, ledger: fresh.ledger }) },
  },
];

function hasRun({ claims }: DurableChange): boolean {
  return Object.values(claims).some((claim) => claim?.status.kind === 'running');
}

type Claim = State['claims'][string];

function withClaims(state: State, change: (claim: Claim) => Claim | null): State {
  const claims = Object.entries(state.claims).flatMap(([id, claim]) => {
    const changed = change(claim);
    return changed === null ? [] : [[id, changed] as const];
  });
  return { ...state, claims: Object.fromEntries(claims) };
}
