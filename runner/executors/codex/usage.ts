import type { Clock } from '../../../src/domain/clock.js';
import { type Fields, fieldsOf, textOf } from '../../../src/domain/json.js';
import type { TokenTotals } from '../../../src/domain/run-signal.js';

/** The last known rate limits of the account. Updates are sparse: a limit that is absent keeps its value. */
export class RateLimits {
  #windows: { [name: string]: Window } = {};

  update(params: Fields): void {
    const snapshot = fieldsOf(params.rateLimits);
    for (const name of ['primary', 'secondary'] as const) this.#set(name, snapshot[name], 'usedPercent');
    this.#set('individualLimit', snapshot.individualLimit, 'remainingPercent');
  }

  /** When work can continue: the last reset of the used-up limits, or the next reset when no limit is used up. */
  resetAtMs(nowMs: number): number | undefined {
    const coming = Object.values(this.#windows).filter((window) => window.resetAtMs > nowMs);
    const used = coming.filter((window) => window.isUsedUp).map((window) => window.resetAtMs);
    if (used.length > 0) return Math.max(...used);
    return coming.length > 0 ? Math.min(...coming.map((window) => window.resetAtMs)) : undefined;
  }

  #set(name: string, value: unknown, measure: 'usedPercent' | 'remainingPercent'): void {
    const fields = fieldsOf(value);
    const resetAtMs = millisecondsOf(fields.resetsAt);
    const percent = fields[measure];
    if (resetAtMs === null || typeof percent !== 'number') return;
    this.#windows[name] = { resetAtMs, isUsedUp: measure === 'usedPercent' ? percent >= 100 : percent <= 0 };
  }
}

interface Window {
  readonly resetAtMs: number;
  readonly isUsedUp: boolean;
}

/** Codex sends seconds. A value beyond the year 5138 is read as milliseconds. */
const FIRST_MILLISECONDS = 100_000_000_000;
const LAST_DATE_MS = 8_640_000_000_000_000;

function millisecondsOf(value: unknown): number | null {
  if (typeof value !== 'number' || !Number.isFinite(value) || value <= 0 || value > LAST_DATE_MS) return null;
  return Math.round(value < FIRST_MILLISECONDS ? value * 1_000 : value);
}

type UsageReading =
  | { readonly kind: 'totals'; readonly threadId: string; readonly totals: TokenTotals }
  | { readonly kind: 'refused'; readonly reason: string };

const MAX_THREADS = 1_000;

/**
 * The running totals of each thread. Totals are absolute, so a repeated message counts once. A total that is not a plain count, or
 * smaller than the one before, is refused: budgets are decided on these numbers.
 */
export class TokenUsage {
  readonly #last = new Map<string, TokenTotals>();

  read(params: Fields): UsageReading {
    const threadId = textOf(params.threadId);
    if (threadId === null) return { kind: 'refused', reason: 'token counts without a thread' };
    const totals = totalsOf(fieldsOf(fieldsOf(params.tokenUsage).total));
    if (!totals)
      return { kind: 'refused', reason: 'token counts must be whole numbers from 0 to 2^53 - 1, cached within input' };
    const last = this.#last.get(threadId);
    if (last && (totals.input < last.input || totals.cached < last.cached || totals.output < last.output)) {
      return { kind: 'refused', reason: 'the totals of a thread never shrink' };
    }
    if (!last && this.#last.size >= MAX_THREADS) return { kind: 'refused', reason: 'too many threads' };
    this.#last.set(threadId, totals);
    return { kind: 'totals', threadId, totals };
  }

  totalsOf(threadId: string): TokenTotals {
    return this.#last.get(threadId) ?? { input: 0, cached: 0, output: 0 };
  }
}

const MIN_INTERVAL_MS = 1_000;

/** Reports the last totals of each thread, at most once a second: the core stores its budgets with each report. */
export class UsageSignals {
  readonly #unreported = new Map<string, TokenTotals>();
  #cancelTimer: (() => void) | null = null;

  constructor(
    private readonly clock: Pick<Clock, 'after'>,
    private readonly report: (threadId: string, totals: TokenTotals) => void,
  ) {}

  add(threadId: string, totals: TokenTotals): void {
    this.#unreported.set(threadId, totals);
    if (this.#cancelTimer === null) this.#reportAndWait();
  }

  /** Reports what is left. */
  flush(): void {
    for (const [threadId, totals] of this.#unreported) this.report(threadId, totals);
    this.#unreported.clear();
  }

  end(): void {
    this.flush();
    this.#cancelTimer?.();
  }

  #reportAndWait(): void {
    this.#cancelTimer = null;
    if (this.#unreported.size === 0) return;
    this.flush();
    this.#cancelTimer = this.clock.after(MIN_INTERVAL_MS, () => this.#reportAndWait());
  }
}

function totalsOf(total: Fields): TokenTotals | null {
  const input = countOf(total.inputTokens);
  const cached = total.cachedInputTokens === undefined ? 0 : countOf(total.cachedInputTokens);
  const output = countOf(total.outputTokens);
  if (input === null || cached === null || output === null || cached > input) return null;
  return { input, cached, output };
}

function countOf(value: unknown): number | null {
  return Number.isSafeInteger(value) && (value as number) >= 0 ? (value as number) : null;
}
