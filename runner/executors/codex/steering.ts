import type { AppServerClient } from './app-server-client.js';
import { CALLS, textInput } from './protocol.js';
import type { Reporter } from './reporter.js';
import type { Turn } from './turn.js';

interface Message {
  readonly text: string;
  /** On its way: into the active turn, or with the text of the turn that is being started. */
  way: 'none' | 'steer' | 'turn';
}

/**
 * Messages of people to the agent. Into the active turn when there is one; else they wait for the next turn's text. A message is heard
 * when the agent has confirmed it, and until then it is kept.
 */
export class Steering {
  readonly #unheard = new Set<Message>();
  #target: { readonly threadId: string; readonly turn: Turn } | null = null;

  constructor(
    private readonly client: AppServerClient,
    private readonly reporter: Reporter,
  ) {}

  say(text: string): void {
    const message: Message = { text, way: 'none' };
    this.#unheard.add(message);
    void this.#send(message);
  }

  /** A turn runs: it has heard what came with its text, and what was said while it started goes to it. */
  attach(target: { readonly threadId: string; readonly turn: Turn }): void {
    this.#target = target;
    for (const message of this.#unheard) if (message.way === 'turn') this.#unheard.delete(message);
    for (const message of this.#unheard) if (message.way === 'none') void this.#send(message);
  }

  /** What has waited, for the text of the next turn. */
  take(): string[] {
    const waiting = [...this.#unheard].filter(({ way }) => way === 'none');
    for (const message of waiting) message.way = 'turn';
    return waiting.map(({ text }) => text);
  }

  /** What the agent is not known to have heard. */
  get unheard(): string[] {
    return [...this.#unheard].map(({ text }) => text);
  }

  async #send(message: Message): Promise<void> {
    const target = this.#target;
    const expectedTurnId = target?.turn.activeId ?? null;
    if (!target || expectedTurnId === null) return;
    message.way = 'steer';
    const input = textInput(message.text);
    try {
      await this.client.request(CALLS.turnSteer, { threadId: target.threadId, expectedTurnId, input });
      this.#unheard.delete(message);
    } catch (error) {
      // The turn ended in between, or cannot be steered: the next one will hear it.
      message.way = 'none';
      this.reporter.warning('a message waits for the next turn', { message: (error as Error).message });
    }
  }
}
