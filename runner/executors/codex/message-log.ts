import { type Fields, fieldsOf, listOf, textOf } from '../../../src/domain/json.js';
import { isKnownRequest, isProgress, isRetryNotice, NOTICES, type RpcId } from './protocol.js';
import type { Reporter } from './reporter.js';
import type { FinishedTurn } from './turn.js';
import { RateLimits, TokenUsage } from './usage.js';

interface LogListener {
  turnEnded(turn: FinishedTurn): void;
  requestResolved(requestId: unknown): void;
}

const MAX_CHANGES = 50;

/**
 * Turns each notification of the agent into an event, and remembers what the run needs later: token totals, rate limits, open items,
 * file changes, the last message. Notifications of other threads (sub-agents) count as progress; the last message and the end of
 * the turn are taken from our own thread only.
 */
export class MessageLog {
  readonly usage = new TokenUsage();
  readonly limits = new RateLimits();
  readonly progress: Progress;
  threadId: string | null = null;
  lastMessage = '';
  readonly #items = new OpenItems();
  readonly #changes = new Map<string, readonly unknown[]>();
  #ignored = 0;

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
    this.#remember(method, params);
  }

  request(method: string): void {
    if (isKnownRequest(method)) this.progress.made();
  }

  /** A reply to no open request, or a request whose id is already open. */
  unexpectedId(kind: 'reply' | 'request', id: RpcId): void {
    this.#ignored += 1;
    this.reporter.warning(`ignored a ${kind} with an unexpected id`, { id, ignored: this.#ignored });
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

  #remember(method: string, params: Fields): void {
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
        if (item.type === 'fileChange') this.#rememberChanges(item);
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

  #rememberChanges(item: Fields): void {
    if (typeof item.id !== 'string' || this.#changes.size >= MAX_CHANGES) return;
    this.#changes.set(item.id, listOf(item.changes));
  }

  #endTurn(turn: Fields): void {
    const id = textOf(turn.id);
    if (id !== null) this.listener.turnEnded({ id, status: textOf(turn.status) ?? 'unknown', error: turn.error });
  }
}

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

/**
 * The started and unfinished items of the agent that may be silent for long: commands, tools and reasoning. While one is open the
 * stall clock does not run; the end of the item or the turn timeout is the bound.
 */
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

  /** The stream to the model broke: open reasoning will not end by itself. */
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

/** Reports progress to the core, and remembers whether the agent is only waiting for its model service. */
class Progress {
  #lastCount = 0;
  #retryError: Fields | null = null;

  constructor(
    private readonly items: OpenItems,
    private readonly reporter: Reporter,
  ) {}

  /** The last "reconnecting" notice since the last progress, or `null`. */
  get retryError(): Fields | null {
    return this.#retryError;
  }

  made(): void {
    this.#retryError = null;
    this.#send();
  }

  /** Not progress. Reasoning whose stream broke no longer excuses silence; the core is informed once. */
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
