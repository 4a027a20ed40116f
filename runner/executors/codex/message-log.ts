import { type Fields, fieldsOf, listOf, textOf } from '../../../src/domain/json.js';
import { OpenItems, Progress } from './open-items.js';
import { isDelta, isKnownRequest, isProgress, isRetryNotice, NOTICES, type RpcId } from './protocol.js';
import type { Reporter } from './reporter.js';
import type { FinishedTurn } from './turn.js';
import { RateLimits, TokenUsage } from './usage.js';

interface LogListener {
  turnEnded(turn: FinishedTurn): void;
  requestResolved(requestId: unknown): void;
}

const MAX_CHANGES = 50;
const MAX_WARNINGS = 50;

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
  readonly #warnings = new Set<string>();
  #ignored = 0;

  constructor(
    private readonly reporter: Reporter,
    private readonly listener: LogListener,
  ) {
    this.progress = new Progress(this.#items, reporter);
  }

  notification(method: string, rawParams: unknown): void {
    const params = fieldsOf(rawParams);
    if (isDelta(method)) {
      // The deltas that follow within a moment are no news to the stall clock.
      if (!this.reporter.delta(method, params) && isProgress(method, params)) this.progress.made();
      return;
    }
    this.#items.observe(method, params);
    if (isRetryNotice(method, params)) this.progress.retrying(params);
    else if (isProgress(method, params)) this.progress.made();
    if (method === NOTICES.tokenUsage) {
      this.#readUsage(method, params);
      return;
    }
    if (this.#isRepeatedWarning(method, params)) return;
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

  /** Codex repeats some warnings in each turn, such as the one about a model that it does not know. */
  #isRepeatedWarning(method: string, { message }: Fields): boolean {
    if (method !== NOTICES.warning || typeof message !== 'string') return false;
    if (this.#warnings.has(message)) return true;
    if (this.#warnings.size < MAX_WARNINGS) this.#warnings.add(message);
    return false;
  }

  #readUsage(method: string, params: Fields): void {
    const reading = this.usage.read(params);
    if (reading.kind === 'refused') {
      this.reporter.event('other_message', { method, data: { warning: reading.reason, params } });
      return;
    }
    const { threadId, totals } = reading;
    this.reporter.event('notification', { method, usage: totals, data: params });
    this.reporter.usage(threadId, totals);
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
