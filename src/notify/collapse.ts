import type { NoticeKind } from '../domain/config.js';
import { assertNever } from '../domain/json.js';
import type { DigestNotice, Notice, Told } from './notice.js';

/** The same within this time is held back. */
export const REPEAT_WINDOW_MS = 600_000;
export const BURST_WINDOW_MS = 60_000;
/** So many in a burst are told one by one; the rest as one. */
export const BURST_LIMIT = 20;
const NAMED_IN_DIGEST = 20;

/**
 * Keeps a channel readable. What was told opens a window, in which the same is held back; the last that was held back is told when the
 * window ends, with their number, or before something else about the same issue or hold, so that the newest word is always the
 * last. More than twenty a minute become twenty and a digest. Holds are never lost in a digest: there are few, and they matter
 * most. Times are those of a clock that never goes back.
 */
export interface Collapse {
  /** By what counts as the same: when its window ends. */
  readonly windows: ReadonlyMap<string, number>;
  /** By issue or hold. */
  readonly held: ReadonlyMap<string, Held>;
  readonly burst: Burst | null;
}

interface Held {
  readonly notice: Notice;
  readonly count: number;
  readonly dueMs: number;
}

interface Burst {
  readonly endsMs: number;
  readonly told: number;
  readonly over: readonly Told[];
}

export interface Collapsed {
  readonly state: Collapse;
  /** To be told now, in this order. */
  readonly told: readonly Told[];
  /** When to ask again, with no notices if there are none. */
  readonly wakeMs: number | null;
}

export const NOTHING_COLLAPSED: Collapse = { windows: new Map(), held: new Map(), burst: null };

export function collapse(state: Collapse, notices: readonly Notice[], nowMs: number): Collapsed {
  const draft = new Draft(state, nowMs);
  draft.ripen();
  for (const notice of notices) draft.add(notice);
  return draft.result();
}

/** Everything that is still held back, for a daemon that ends. */
export function collapseEnd(state: Collapse): readonly Told[] {
  const held = [...state.held.values()].map(({ notice, count }) => ({ notice, repeated: count }));
  return [...digestOf(state.burst?.over ?? []), ...held];
}

class Draft {
  readonly #told: Told[] = [];
  readonly #windows: Map<string, number>;
  readonly #held: Map<string, Held>;
  #burst: { readonly endsMs: number; told: number; readonly over: Told[] } | null;

  constructor(
    { windows, held, burst }: Collapse,
    readonly nowMs: number,
  ) {
    this.#windows = new Map([...windows].filter(([, endsMs]) => endsMs > nowMs));
    this.#held = new Map(held);
    this.#burst = burst && { ...burst, over: [...burst.over] };
  }

  ripen(): void {
    if (this.#burst && this.#burst.endsMs <= this.nowMs) {
      this.#told.push(...digestOf(this.#burst.over));
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
      this.#tell({ notice, repeated: 0 });
      return;
    }
    const earlier = this.#held.get(subject);
    this.#held.set(subject, { notice, count: (earlier?.count ?? 0) + 1, dueMs: earlier?.dueMs ?? endsMs });
  }

  result(): Collapsed {
    const times = [...this.#held.values()].map(({ dueMs }) => dueMs);
    if (this.#burst && this.#burst.over.length > 0) times.push(this.#burst.endsMs);
    const state = { windows: this.#windows, held: this.#held, burst: this.#burst };
    return { state, told: this.#told, wakeMs: times.length === 0 ? null : Math.min(...times) };
  }

  #release(subject: string): void {
    const held = this.#held.get(subject);
    if (held === undefined) return;
    this.#held.delete(subject);
    this.#tell({ notice: held.notice, repeated: held.count });
  }

  #tell(told: Told): void {
    const { notice } = told;
    if (subjectOf(notice) !== null) this.#windows.set(keyOf(notice), this.nowMs + REPEAT_WINDOW_MS);
    if (!('issue' in notice)) {
      this.#told.push(told);
      return;
    }
    this.#burst ??= { endsMs: this.nowMs + BURST_WINDOW_MS, told: 0, over: [] };
    const isOver = this.#burst.told >= BURST_LIMIT;
    if (!isOver) this.#burst.told += 1;
    (isOver ? this.#burst.over : this.#told).push(told);
  }
}

/** What a notice is about; `null` for those that come alone. */
function subjectOf(notice: Notice): string | null {
  if ('issue' in notice) return `issue ${notice.issue.id}`;
  return notice.kind === 'hold' ? `hold ${notice.source}` : null;
}

/** What makes two notices the same. Another question is never a repeat: each wants an answer of its own. */
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

function digestOf(over: readonly Told[]): readonly Told[] {
  const last = over.at(-1);
  if (last === undefined || over.length === 1) return over;
  const counts: { [kind in NoticeKind]?: number } = {};
  const identifiers = new Set<string>();
  for (const { notice, repeated } of over) {
    if (!('issue' in notice)) continue;
    counts[notice.kind] = (counts[notice.kind] ?? 0) + Math.max(1, repeated);
    if (identifiers.size < NAMED_IN_DIGEST) identifiers.add(notice.issue.identifier);
  }
  const notice: DigestNotice = { kind: 'digest', atMs: last.notice.atMs, counts, identifiers: [...identifiers] };
  return [{ notice, repeated: 0 }];
}
