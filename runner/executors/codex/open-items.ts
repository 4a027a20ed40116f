import { type Fields, fieldsOf, textOf } from '../../../src/domain/json.js';
import { NOTICES } from './protocol.js';
import type { Reporter } from './reporter.js';

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
export class Progress {
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

  /** Not progress. Reasoning whose stream broke no longer pauses the stall clock; the core is informed once. */
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
