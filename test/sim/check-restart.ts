import type { State } from '../../orchestrator/state.js';
import type { Claim, ClaimStatus } from '../../src/domain/claim.js';
import type { Instant } from '../../src/domain/clock.js';
import type { Durable, DurableChange } from '../../src/domain/durable.js';
import type { Effect } from '../../src/domain/effects.js';
import type { OrchestratorEvent } from '../../src/domain/events.js';
import type { Disk } from './disk.js';
import type { LawChecker } from './law-checker.js';

/** The state that each write was meant to store. The restored state is compared with it after a kill. */
export class StoredStates {
  #ordered = new WeakMap<DurableChange, { readonly life: number; readonly seq: number; readonly state: State }>();
  /** The newest write that was confirmed in this life. */
  #safeSeq = 0;
  #life = 0;

  decided(life: number, event: OrchestratorEvent, state: State, effects: readonly Effect[]): void {
    if (life !== this.#life) this.#safeSeq = 0;
    this.#life = life;
    if (event.type === 'persisted') this.#safeSeq = Math.max(this.#safeSeq, event.seq);
    for (const effect of effects) {
      if (effect.type === 'persist') this.#ordered.set(effect.change, { life, seq: effect.seq, state });
    }
  }

  check(book: LawChecker, { applied, durable }: Disk, restored: State, life: number, now: Instant): void {
    const on = applied === null ? undefined : this.#ordered.get(applied);
    const seqOnDisk = on?.life === this.#life ? on.seq : 0;
    if (seqOnDisk < this.#safeSeq)
      book.broke('restart_loses_nothing', `write ${this.#safeSeq} was told to be safe, the disk has ${seqOnDisk}`);
    this.#life = life;
    this.#safeSeq = 0;
    if (on) compare(book, on.state, durable, restored, now);
  }
}

function compare(book: LawChecker, was: State, onDisk: Durable, is: State, { wallMs, day: today }: Instant): void {
  const lost = (what: string, before: unknown, after: unknown) =>
    book.broke('restart_loses_nothing', `${what} was ${JSON.stringify(before)} and is ${JSON.stringify(after)}`);
  const expect = (what: string, before: unknown, after: unknown) => {
    if (JSON.stringify(before) !== JSON.stringify(after)) lost(what, before, after);
  };
  expect('the list of claims', Object.keys(was.claims).sort(), Object.keys(is.claims).sort());
  for (const [id, claim] of Object.entries(was.claims)) {
    const restored = is.claims[id];
    if (restored) expect(`the claim of ${id}`, essence(claim), essence(restored));
    // Not the last daemon's value: it may have moved due times with a clock that was corrected since.
    const due = dueAt(onDisk.claims[id]?.status, wallMs);
    const restoredDue = dueAt(restored?.status, wallMs);
    // A wait that a clock change made too long may be shortened, but not below a whole backoff.
    const isCut = due !== null && restoredDue !== null && restoredDue < due;
    if (restoredDue !== due && !(isCut && restoredDue >= wallMs + is.config.agent.maxRetryBackoffMs))
      lost(`the due time of ${id}`, due, restoredDue);
  }
  expect('the records', ...inOrder(was.records, is.records));
  expect('the holds', holdsOf(was), holdsOf(is));
  expect('the pause', was.pausedSinceMs, is.pausedSinceMs);
  for (const [day, { tokens }] of Object.entries(was.ledger)) {
    if (day === today || is.ledger[day]) expect(`the spending of ${day}`, tokens, is.ledger[day]?.tokens ?? 0);
  }
}

/** The fields that must be equal. */
function essence({ failures, idleRuns, failedAsProbe, daemonDeaths, status, issue }: Claim): unknown {
  const shared = { failures, idleRuns, failedAsProbe, daemonDeaths, state: issue.state };
  switch (status.kind) {
    case 'parked':
      return { ...shared, parked: status.reason, hash: status.hash, question: status.question, run: status.run };
    case 'waiting': {
      const { reason, attempt, resume } = status;
      return { ...shared, reason, attempt, resume };
    }
    case 'running':
      return { ...shared, run: status.run };
  }
}

/** Setting the clock back moves due times by the same amount. */
function dueAt(status: ClaimStatus | undefined, wallMs: number): number | null {
  return status?.kind === 'waiting' ? status.dueAtMs - Math.max(0, status.sinceMs - wallMs) : null;
}

function holdsOf({ holds }: State): unknown {
  const { store: _, ...kept } = holds;
  return Object.entries(kept)
    .map(([source, hold]) => [source, hold.code, hold.tries])
    .sort();
}

function inOrder(...records: [State['records'], State['records']]): [unknown, unknown] {
  const [a, b] = records.map((one) => Object.entries(one).sort(([x], [y]) => (x < y ? -1 : 1)));
  return [a, b];
}
