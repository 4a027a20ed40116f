import { type Fields, fieldsOf, listOf, textOf } from '../../../src/domain/json.js';
import type { TokenTotals } from '../../../src/domain/run-signal.js';
import { isKnownRequest, isProgress, isRetryNotice, NOTICES, type RpcId } from './protocol.js';
import type { Reporter } from './reporter.js';
import type { FinishedTurn } from './turn.js';

/**
 * Reads along: turns each notification of the agent into an event, and keeps what the run needs to know of them. Other threads
 * (of sub-agents) are heard, but only our own thread has the last word and the end of the turn.
 */
interface LogListener {
  turnEnded(turn: FinishedTurn): void;
  requestResolved(requestId: unknown): void;
}

const MAX_CHANGES = 50;

export class MessageLog {
  readonly usage = new TokenUsage();
  readonly limits = new RateLimits();
  readonly progress: Progress;
  threadId: string | null = null;
  lastMessage = '';
  readonly #items = new OpenItems();
  readonly #changes = new Map<string, readonly unknown[]>();
  #strays = 0;

  constructor(
    private readonly reporter: Reporter,
    private readonly listener: LogListener,
  ) {
    this.progress = new Progress(this.#items, reporter);
  }

  notification(method: string, rawParams: unknown): void {
    const params = fieldsOf(rawParams);
    this.#items.observe(method, params);
    if (isRetryNotice(method, params)) this.progress.retrying(params);
    else if (isProgress(method, params)) this.progress.made();
    if (method === NOTICES.tokenUsage) {
      this.#readUsage(method, params);
      return;
    }
    this.reporter.event('notification', { method, data: params });
    this.#keep(method, params);
  }

  request(method: string): void {
    if (isKnownRequest(method)) this.progress.made();
  }

  stray(kind: 'reply' | 'request', id: RpcId): void {
    this.#strays += 1;
    this.reporter.warning(`ignored a ${kind} with an id that is not expected`, { id, ignored: this.#strays });
  }

  changesOf(itemId: unknown): readonly unknown[] {
    return typeof itemId === 'string' ? (this.#changes.get(itemId) ?? []) : [];
  }

  #readUsage(method: string, params: Fields): void {
    const reading = this.usage.read(params);
    if (reading.kind === 'refused') {
      this.reporter.event('other_message', { method, data: { warning: reading.reason, params } });
      return;
    }
    const { threadId, totals } = reading;
    this.reporter.event('notification', { method, usage: totals, data: params });
    this.reporter.signal({ type: 'usage', threadId, totals });
  }

  #keep(method: string, params: Fields): void {
    const item = fieldsOf(params.item);
    const isOurs = params.threadId === this.threadId;
    switch (method) {
      case NOTICES.rateLimits:
        this.limits.update(params);
        break;
      case NOTICES.requestResolved:
        this.listener.requestResolved(params.requestId);
        break;
      case NOTICES.itemStarted:
        if (item.type === 'fileChange') this.#keepChanges(item);
        break;
      case NOTICES.itemCompleted:
        if (typeof item.id === 'string') this.#changes.delete(item.id);
        if (isOurs && item.type === 'agentMessage') this.lastMessage = textOf(item.text) ?? this.lastMessage;
        break;
      case NOTICES.turnCompleted:
        this.#changes.clear();
        if (isOurs) this.#endTurn(fieldsOf(params.turn));
        break;
    }
  }

  #keepChanges(item: Fields): void {
    if (typeof item.id !== 'string' || this.#changes.size >= MAX_CHANGES) return;
    this.#changes.set(item.id, listOf(item.changes));
  }

  #endTurn(turn: Fields): void {
    const id = textOf(turn.id);
    if (id !== null) this.listener.turnEnded({ id, status: textOf(turn.status) ?? 'unknown', error: turn.error });
  }
}

/**
 * The items of the agent that have begun and not ended and may rightly be silent for long: commands, tools and reasoning. While one is
 * open the stall clock does not run; its own end or the turn timeout is the bound.
 */
type ItemKind = 'command' | 'tool' | 'reasoning';

const KINDS: ReadonlyMap<string, ItemKind> = new Map([
  ['commandExecution', 'command'],
  ['fileChange', 'tool'],
  ['mcpToolCall', 'tool'],
  ['dynamicToolCall', 'tool'],
  ['collabAgentToolCall', 'tool'],
  ['webSearch', 'tool'],
  ['imageGeneration', 'tool'],
  ['sleep', 'tool'],
  ['reasoning', 'reasoning'],
  ['contextCompaction', 'reasoning'],
]);

const MAX_OPEN = 1_000;
const MAX_ID_LENGTH = 200;

export class OpenItems {
  readonly #open = new Map<string, { readonly kind: ItemKind; readonly threadId: string | null }>();

  get count(): number {
    return this.#open.size;
  }

  observe(method: string, params: Fields): void {
    const item = fieldsOf(params.item);
    const id = textOf(item.id);
    const threadId = textOf(params.threadId);
    if (method === NOTICES.turnCompleted) this.#endTurn(threadId);
    if (id === null || id.length > MAX_ID_LENGTH) return;
    if (method === NOTICES.itemCompleted) this.#open.delete(id);
    if (method !== NOTICES.itemStarted || this.#open.size >= MAX_OPEN) return;
    const kind = KINDS.get(textOf(item.type) ?? '');
    if (kind) this.#open.set(id, { kind, threadId });
  }

  /** The stream to the model broke: reasoning that was under way will not end by itself. */
  dropReasoning(): void {
    for (const [id, item] of this.#open) if (item.kind === 'reasoning') this.#open.delete(id);
  }

  clear(): void {
    this.#open.clear();
  }

  #endTurn(threadId: string | null): void {
    for (const [id, item] of this.#open) if (item.threadId === threadId) this.#open.delete(id);
  }
}

/** Tells the core that the agent works, and remembers whether it is only waiting for its model service. */
class Progress {
  #lastCount = 0;
  #retryError: Fields | null = null;

  constructor(
    private readonly items: OpenItems,
    private readonly reporter: Reporter,
  ) {}

  /** The last "reconnecting" notice since there was progress; `null` when there was none. */
  get retryError(): Fields | null {
    return this.#retryError;
  }

  made(): void {
    this.#retryError = null;
    this.#send();
  }

  /** Not progress. But reasoning whose stream broke no longer excuses silence, and the core must hear of that, once. */
  retrying(params: Fields): void {
    this.#retryError = fieldsOf(params.error);
    this.items.dropReasoning();
    if (this.items.count !== this.#lastCount) this.#send();
  }

  #send(): void {
    this.#lastCount = this.items.count;
    this.reporter.signal({ type: 'progress', openItems: this.items.count });
  }
}

/** The last known limits of the account. Updates are sparse: what is absent keeps its value. */
export class RateLimits {
  #windows: { [name: string]: Window } = {};

  update(params: Fields): void {
    const snapshot = fieldsOf(params.rateLimits);
    for (const name of ['primary', 'secondary'] as const) this.#keep(name, snapshot[name], 'usedPercent');
    this.#keep('individualLimit', snapshot.individualLimit, 'remainingPercent');
  }

  /** When work can go on: the last reset of the limits that are used up; where none says so, the first reset to come. */
  resetAtMs(nowMs: number): number | undefined {
    const coming = Object.values(this.#windows).filter((window) => window.resetAtMs > nowMs);
    const used = coming.filter((window) => window.isUsedUp).map((window) => window.resetAtMs);
    if (used.length > 0) return Math.max(...used);
    return coming.length > 0 ? Math.min(...coming.map((window) => window.resetAtMs)) : undefined;
  }

  #keep(name: string, value: unknown, measure: 'usedPercent' | 'remainingPercent'): void {
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

/** Codex gives seconds. A value that would lie in the year 5138 or later is taken for milliseconds. */
const FIRST_MILLISECONDS = 100_000_000_000;
const LAST_DATE_MS = 8_640_000_000_000_000;

function millisecondsOf(value: unknown): number | null {
  if (typeof value !== 'number' || !Number.isFinite(value) || value <= 0 || value > LAST_DATE_MS) return null;
  return Math.round(value < FIRST_MILLISECONDS ? value * 1_000 : value);
}

/**
 * The running totals of each thread. They are absolute, so a message seen twice counts once; whatever is not a plain count, or
 * smaller than what was said before, is refused: a budget is decided on these numbers.
 */
type UsageReading =
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
