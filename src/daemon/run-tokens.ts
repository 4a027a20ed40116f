import { fieldsOf, textOf } from '../domain/fields.js';
import type { RuntimeEvent, TokenTotals } from '../domain/runtime-event.js';

const MAX_THREADS = 1_000;

/**
 * What each run has spent, for the log; budgets are decided on the core's own books. Agents tell totals of threads, and a thread may
 * go on over several runs: only what came since its last report counts. Of one that an earlier daemon began, the first report is where
 * counting starts.
 */
export class RunTokens {
  readonly #threads = new Map<string, TokenTotals>();
  readonly #spent = new Map<string, number>();

  /** `resumed`: the thread that the run goes on with, as it is called outside of runs. */
  heard(runId: string, { usage, threadId, data }: RuntimeEvent, resumed: string | null): void {
    const thread = textOf(fieldsOf(data).threadId) ?? threadId;
    if (!usage || thread === undefined) return;
    const isOld = resumed === thread || resumed?.endsWith(`#${thread}`) === true;
    const before = this.#threads.get(thread) ?? (isOld ? usage : NONE);
    this.#spent.set(runId, (this.#spent.get(runId) ?? 0) + Math.max(0, billable(usage) - billable(before)));
    this.#threads.delete(thread);
    this.#threads.set(thread, usage);
    const [oldest] = this.#threads.keys();
    if (this.#threads.size > MAX_THREADS && oldest !== undefined) this.#threads.delete(oldest);
  }

  /** Of a run that has ended. As they count against budgets: input that was not cached, and output. */
  take(runId: string): number {
    const spent = this.#spent.get(runId) ?? 0;
    this.#spent.delete(runId);
    return spent;
  }
}

const NONE: TokenTotals = { input: 0, cached: 0, output: 0 };

function billable({ input, cached, output }: TokenTotals): number {
  return input - cached + output;
}
