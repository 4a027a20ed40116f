import type { State } from '../../orchestrator/state.js';
import type { Claim, ClaimStatus } from '../../src/domain/claim.js';
import type { Instant } from '../../src/domain/clock.js';
import type { Durable, DurableChange } from '../../src/domain/durable.js';
import type { Effect } from '../../src/domain/effects.js';
import type { OrchestratorEvent } from '../../src/domain/events.js';
import type { Disk } from './disk.js';
import type { LawBook } from './law-book.js';

/** Which state each write was to make safe: what comes back after a kill is held against it. */
export class StoredStates {
  #ordered = new WeakMap<DurableChange, { readonly life: number; readonly seq: number; readonly state: State }>();
  /** The newest write that this life was told to be safe. */
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

  check(book: LawBook, { applied, durable }: Disk, restored: State, life: number, now: Instant): void {
    const on = applied === null ? undefined : this.#ordered.get(applied);
    const seqOnDisk = on?.life === this.#life ? on.seq : 0;
    if (seqOnDisk < this.#safeSeq)
      book.broke('restart_loses_nothing', `write ${this.#safeSeq} was told to be safe, the disk has ${seqOnDisk}`);
    this.#life = life;
    this.#safeSeq = 0;
    if (on) compare(book, on.state, durable, restored, now);
  }
}

function compare(book: LawBook, was: State, onDisk: Durable, is: State, { wallMs, day: today }: Instant): void {
  const lost = (what: string, before: unknown, after: unknown) =>
    book.broke('restart_loses_nothing', `${what} was ${JSON.stringify(before)} and is ${JSON.stringify(after)}`);
  const expect = (what: string, before: unknown, after: unknown) => {
    if (JSON.stringify(before) !== JSON.stringify(after)) lost(what, before, after);
  };
  expect('the list of claims', Object.keys(was.claims).sort(), Object.keys(is.claims).sort());
  for (const [id, claim] of Object.entries(was.claims)) {
    const restored = is.claims[id];
    if (restored) expect(`the claim of ${id}`, essence(claim), essence(restored));
    // Not as the last daemon had it: it may have moved them with a clock that was set right again since then.
    const due = dueAt(onDisk.claims[id]?.status, wallMs);
    const restoredDue = dueAt(restored?.status, wallMs);
    // A wait that a clock made too long may be cut, but not below a whole backoff.
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

/** What must be the same. */
function essence({ failures, idleRuns, suspect, status, issue }: Claim): unknown {
  const shared = { failures, idleRuns, suspect, state: issue.state };
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

/** A clock that was set back moves due times by just that. */
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
