import type { Clock } from '../../src/domain/clock.js';
import type { Json } from '../../src/domain/json.js';
import type { ThreadMessage } from '../executors/executor.js';

/** A loop goes on for hours, and all of this is sent with each call of a capability. */
const MAX_LENGTH = 1_000_000;

/**
 * The conversation of a run as capability executors see it: what was asked, then what each finished step gave. Where that becomes
 * too long, the oldest of the steps are left out.
 */
export class ThreadMessages {
  readonly #messages: ThreadMessage[] = [];
  #count = 0;
  #length = 0;

  constructor(
    private readonly runId: string,
    private readonly clock: Clock,
  ) {}

  asked(prompt: string): void {
    this.#add('user', prompt);
  }

  said(stepId: string, output: Json): void {
    this.#add('agent', `${stepId}: ${typeof output === 'string' ? output : JSON.stringify(output)}`);
  }

  get all(): readonly ThreadMessage[] {
    return [...this.#messages];
  }

  #add(sender: ThreadMessage['sender'], content: string): void {
    const messageId = `${this.runId}-${++this.#count}`;
    this.#messages.push({ messageId, content, sender, timestamp: new Date(this.clock.now().wallMs).toISOString() });
    this.#length += content.length;
    while (this.#length > MAX_LENGTH && this.#messages.length > 2) {
      const [oldest] = this.#messages.splice(1, 1);
      this.#length -= oldest?.content.length ?? 0;
    }
  }
}
