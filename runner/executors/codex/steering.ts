import type { AppServerClient } from './app-server-client.js';
import { CALLS, textInput } from './protocol.js';
import type { Reporter } from './reporter.js';
import type { Turn } from './turn.js';

/** Messages of people to the agent. Into the active turn when there is one; else they wait for the next turn's text. */
export class Steering {
  #waiting: string[] = [];
  #target: { readonly threadId: string; readonly turn: Turn } | null = null;

  constructor(
    private readonly client: AppServerClient,
    private readonly reporter: Reporter,
  ) {}

  async say(text: string): Promise<void> {
    const target = this.#target;
    const expectedTurnId = target?.turn.activeId ?? null;
    if (!target || expectedTurnId === null) {
      this.#waiting.push(text);
      return;
    }
    try {
      await this.client.request(CALLS.turnSteer, { threadId: target.threadId, expectedTurnId, input: textInput(text) });
    } catch (error) {
      // The turn ended in between, or cannot be steered: the next one will hear it.
      this.#waiting.push(text);
      this.reporter.warning('a message waits for the next turn', { message: (error as Error).message });
    }
  }

  /** A turn runs: what was said while it started goes to it. */
  attach(target: { readonly threadId: string; readonly turn: Turn }): void {
    this.#target = target;
    for (const text of this.take()) void this.say(text);
  }

  /** What has waited, for the text of the next turn. */
  take(): string[] {
    const waiting = this.#waiting;
    this.#waiting = [];
    return waiting;
  }

  close(): void {
    const unheard = this.take();
    if (unheard.length > 0) this.reporter.warning('messages did not reach the agent', { messages: unheard });
  }
}
