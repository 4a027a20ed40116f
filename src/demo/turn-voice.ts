import { randomUUID } from 'node:crypto';
import type { DemoThread, Usage } from './demo-thread.js';
import type { LinePeer } from './line-peer.js';
import { messageItem, usageShape } from './wire-shapes.js';

/** What a turn says while it works: items, deltas and token counts, at a pace that people can follow. */
export class TurnVoice {
  constructor(
    private readonly peer: LinePeer,
    private readonly thread: DemoThread,
    private readonly turnId: string,
    private readonly pace: () => Promise<void>,
  ) {}

  notify(method: string, params: object): void {
    this.peer.notify(method, { threadId: this.thread.id, turnId: this.turnId, ...params });
  }

  /** `begun` and `ended` shape the item before and after the work; the item has one id throughout. */
  async item<T>(
    begun: (id: string) => object,
    work: (id: string) => Promise<T>,
    ended: (id: string, done: T) => object,
  ) {
    await this.pace();
    const id = `item_${randomUUID()}`;
    this.notify('item/started', { item: begun(id), startedAtMs: Date.now() });
    const done = await work(id);
    this.notify('item/completed', { item: ended(id, done), completedAtMs: Date.now() });
    this.#bill(JSON.stringify(done ?? '').length);
    return done;
  }

  heard(input: readonly unknown[]): void {
    const item = { type: 'userMessage', id: `item_${randomUUID()}`, clientId: null, content: input };
    this.notify('item/started', { item, startedAtMs: Date.now() });
    this.notify('item/completed', { item, completedAtMs: Date.now() });
  }

  async think(thought: string): Promise<void> {
    const shape = (summary: readonly string[]) => (id: string) => ({ type: 'reasoning', id, summary, content: [] });
    await this.item(shape([]), () => this.pace(), shape([thought]));
  }

  async say(text: string, phase: 'commentary' | 'final_answer' = 'commentary'): Promise<void> {
    const speak = async (itemId: string) => {
      for (const delta of text.match(/\S+\s*/g) ?? []) this.notify('item/agentMessage/delta', { itemId, delta });
      return text;
    };
    await this.item(
      (id) => messageItem(id, '', phase),
      speak,
      (id) => messageItem(id, text, phase),
    );
  }

  /** Made up, but as a model would be billed: the whole thread is read again for every item, most of it from a cache. */
  #bill(writtenChars: number): void {
    const { usage } = this.thread;
    const last: Usage = {
      inputTokens: 2_400 + Math.round(usage.outputTokens * 1.2),
      cachedInputTokens: usage.inputTokens === 0 ? 0 : 2_048,
      outputTokens: 30 + Math.ceil(writtenChars / 4),
    };
    usage.inputTokens += last.inputTokens;
    usage.cachedInputTokens += last.cachedInputTokens;
    usage.outputTokens += last.outputTokens;
    this.thread.save();
    this.notify('thread/tokenUsage/updated', { tokenUsage: usageShape({ ...usage }, last) });
  }
}
