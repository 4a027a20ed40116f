import { type Fields, fieldsOf, textOf } from '../../../src/domain/fields.js';
import { NOTICES } from './protocol.js';

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
