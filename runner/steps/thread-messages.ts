import type { Clock } from '../../src/domain/clock.js';
import type { Json } from '../../src/domain/json.js';
import type { ThreadMessage } from '../executors/executor.js';

/** The conversation of a run as capability executors see it: what was asked, then what each finished step gave. */
export class ThreadMessages {
  readonly #messages: ThreadMessage[] = [];

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
    const messageId = `${this.runId}-${this.#messages.length + 1}`;
    this.#messages.push({ messageId, content, sender, timestamp: new Date(this.clock.now().wallMs).toISOString() });
  }
}
