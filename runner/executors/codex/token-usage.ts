import { type Fields, fieldsOf, textOf } from '../../../src/domain/fields.js';
import type { TokenTotals } from '../../../src/domain/runtime-event.js';

/**
 * The running totals of each thread. They are absolute, so a message seen twice counts once; whatever is not a plain count, or
 * smaller than what was said before, is refused: a budget is decided on these numbers.
 */
export type UsageReading =
  | { readonly kind: 'totals'; readonly threadId: string; readonly totals: TokenTotals }
  | { readonly kind: 'refused'; readonly reason: string };

const MAX_THREADS = 1_000;

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
