import type { NoticeKind } from '../domain/config.js';
import { assertNever } from '../domain/json.js';
import type { DigestNotice, Notice, OutgoingNotice } from './notice.js';

/** A repeat within this time is held back. */
export const REPEAT_WINDOW_MS = 600_000;
export const BURST_WINDOW_MS = 60_000;
/** So many notices of a burst are sent one by one, the rest as one digest. */
export const BURST_LIMIT = 20;
const NAMED_IN_DIGEST = 20;

/**
 * Keeps a channel readable. A notice that is sent opens a window in which its repeats are held back. The last repeat is sent with their
 * number when the window ends, or before another notice about the same issue or hold, so that the newest notice is always the last. More
 * than twenty a minute become twenty and a digest. Holds never go into a digest: they are few and important. Times are those of a
 * monotonic clock.
 */
export interface CollapseState {
  /** When the window of each kind of notice ends, by `keyOf`. */
  readonly windows: ReadonlyMap<string, number>;
  /** By issue or hold. */
  readonly held: ReadonlyMap<string, HeldNotice>;
  readonly burst: Burst | null;
}

interface HeldNotice {
  readonly notice: Notice;
  readonly count: number;
  readonly dueMs: number;
}

interface Burst {
  readonly endsMs: number;
  readonly sent: number;
  /** Over the limit. */
  readonly excess: readonly OutgoingNotice[];
}

export interface CollapseResult {
  readonly state: CollapseState;
  /** To be sent now, in this order. */
  readonly ready: readonly OutgoingNotice[];
  /** When to call `collapse` again, also without notices; null: not before the next notice. */
  readonly wakeMs: number | null;
}

export const EMPTY_COLLAPSE: CollapseState = { windows: new Map(), held: new Map(), burst: null };

export function collapse(state: CollapseState, notices: readonly Notice[], nowMs: number): CollapseResult {
  const draft = new Draft(state, nowMs);
  draft.releaseDue();
  for (const notice of notices) draft.add(notice);
  return draft.result();
}

/** All notices that are still held back, for a daemon that ends. */
export function flushCollapse(state: CollapseState): readonly OutgoingNotice[] {
  const held = [...state.held.values()].map(({ notice, count }) => ({ notice, repeated: count }));
  return [...digestOf(state.burst?.excess ?? []), ...held];
}

class Draft {
  readonly #ready: OutgoingNotice[] = [];
  readonly #windows: Map<string, number>;
  readonly #held: Map<string, HeldNotice>;
  #burst: { readonly endsMs: number; sent: number; readonly excess: OutgoingNotice[] } | null;

  constructor(
    { windows, held, burst }: CollapseState,
    readonly nowMs: number,
  ) {
    this.#windows = new Map([...windows].filter(([, endsMs]) => endsMs > nowMs));
    this.#held = new Map(held);
    this.#burst = burst && { ...burst, excess: [...burst.excess] };
  }

  releaseDue(): void {
    if (this.#burst && this.#burst.endsMs <= this.nowMs) {
      this.#ready.push(...digestOf(this.#burst.excess));
      this.#burst = null;
    }
    const due = [...this.#held].filter(([, { dueMs }]) => dueMs <= this.nowMs);
    for (const [subject] of due.sort(([, a], [, b]) => a.dueMs - b.dueMs)) this.#release(subject);
  }

  add(notice: Notice): void {
    const subject = subjectOf(notice);
    const endsMs = this.#windows.get(keyOf(notice));
    if (endsMs === undefined || subject === null) {
      if (subject !== null) this.#release(subject);
      this.#send({ notice, repeated: 0 });
      return;
    }
    const earlier = this.#held.get(subject);
    this.#held.set(subject, { notice, count: (earlier?.count ?? 0) + 1, dueMs: earlier?.dueMs ?? endsMs });
  }

  result(): CollapseResult {
    const times = [...this.#held.values()].map(({ dueMs }) => dueMs);
    if (this.#burst && this.#burst.excess.length > 0) times.push(this.#burst.endsMs);
    const state = { windows: this.#windows, held: this.#held, burst: this.#burst };
    return { state, ready: this.#ready, wakeMs: times.length === 0 ? null : Math.min(...times) };
  }

  #release(subject: string): void {
    const held = this.#held.get(subject);
    if (held === undefined) return;
    this.#held.delete(subject);
    this.#send({ notice: held.notice, repeated: held.count });
  }

  #send(outgoing: OutgoingNotice): void {
    const { notice } = outgoing;
    if (subjectOf(notice) !== null) this.#windows.set(keyOf(notice), this.nowMs + REPEAT_WINDOW_MS);
    if (!('issue' in notice)) {
      this.#ready.push(outgoing);
      return;
    }
    this.#burst ??= { endsMs: this.nowMs + BURST_WINDOW_MS, sent: 0, excess: [] };
    const isExcess = this.#burst.sent >= BURST_LIMIT;
    if (!isExcess) this.#burst.sent += 1;
    (isExcess ? this.#burst.excess : this.#ready).push(outgoing);
  }
}

/** The issue or hold that a notice is about; null for reports and digests. */
function subjectOf(notice: Notice): string | null {
  if ('issue' in notice) return `issue ${notice.issue.id}`;
  return notice.kind === 'hold' ? `hold ${notice.source}` : null;
}

/** Notices with the same key are repeats. Another question is never a repeat, since each needs its own answer. */
function keyOf(notice: Notice): string {
  switch (notice.kind) {
    case 'asking':
      return JSON.stringify(['asking', notice.issue.id, notice.question.id]);
    case 'parked':
      return JSON.stringify(['parked', notice.issue.id, notice.reason, notice.question?.id ?? null]);
    case 'done':
      return JSON.stringify(['done', notice.issue.id, notice.isTerminal]);
    case 'hold':
      return JSON.stringify(['hold', notice.source, notice.event, notice.hold.code]);
    case 'daily_report':
    case 'digest':
      return notice.kind;
    default:
      return assertNever(notice);
  }
}

function digestOf(excess: readonly OutgoingNotice[]): readonly OutgoingNotice[] {
  const last = excess.at(-1);
  if (last === undefined || excess.length === 1) return excess;
  const counts: { [kind in NoticeKind]?: number } = {};
  const identifiers = new Set<string>();
  for (const { notice, repeated } of excess) {
    if (!('issue' in notice)) continue;
    counts[notice.kind] = (counts[notice.kind] ?? 0) + Math.max(1, repeated);
    if (identifiers.size < NAMED_IN_DIGEST) identifiers.add(notice.issue.identifier);
  }
  const notice: DigestNotice = { kind: 'digest', atMs: last.notice.atMs, counts, identifiers: [...identifiers] };
  return [{ notice, repeated: 0 }];
}
