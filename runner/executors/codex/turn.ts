import type { Clock } from '../../../src/domain/clock.js';
import { BatonError } from '../../../src/domain/errors.js';

/**
 * One turn, from `turn/start` to its end. It is `starting` until its id is known, `running` until the agent says that it `ended`
 * or we `abandoned` it; the first end counts. Its time limit is in awake time and stands still while a person is asked.
 */
export interface FinishedTurn {
  readonly id: string;
  readonly status: string;
  readonly error: unknown;
}

export class Turn {
  readonly finished: Promise<FinishedTurn>;
  #state: 'starting' | 'running' | 'ended' | 'abandoned' = 'starting';
  #id: string | null = null;
  /** Ends that came before the reply to `turn/start` told which turn is ours. */
  #early: FinishedTurn[] = [];
  #resolve: (turn: FinishedTurn) => void = () => {};
  #reject: (error: Error) => void = () => {};
  #leftMs: number;
  #running: { readonly sinceMs: number; cancel(): void } | null = null;

  constructor(
    private readonly clock: Clock,
    private readonly timeoutMs: number,
  ) {
    this.#leftMs = timeoutMs;
    this.finished = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    // Awaited only after the reply to turn/start; it may be abandoned before.
    this.finished.catch(() => {});
    this.resumeClock();
  }

  /** `null` while it is not running: nothing to steer or to interrupt. */
  get activeId(): string | null {
    return this.#state === 'running' ? this.#id : null;
  }

  /** The agent has not said that this turn ended. */
  get isUnfinished(): boolean {
    return this.#state !== 'ended';
  }

  get id(): string | null {
    return this.#id;
  }

  begin(id: string): void {
    this.#id = id;
    if (this.#state !== 'starting') return;
    this.#state = 'running';
    const early = this.#early.find((turn) => turn.id === id);
    if (early) this.end(early);
  }

  end(turn: FinishedTurn): void {
    if (this.#state === 'starting') this.#early = [...this.#early.slice(-9), turn];
    if (this.#state !== 'running' || turn.id !== this.#id) return;
    this.#state = 'ended';
    this.pauseClock();
    this.#resolve(turn);
  }

  abandon(error: Error): void {
    if (this.#state === 'ended' || this.#state === 'abandoned') return;
    this.#state = 'abandoned';
    this.pauseClock();
    this.#reject(error);
  }

  pauseClock(): void {
    if (!this.#running) return;
    this.#leftMs -= this.clock.now().awakeMs - this.#running.sinceMs;
    this.#running.cancel();
    this.#running = null;
  }

  resumeClock(): void {
    if (this.#running || this.#state === 'ended' || this.#state === 'abandoned') return;
    const cancel = this.clock.after(this.#leftMs, () => this.#timeOut());
    this.#running = { sinceMs: this.clock.now().awakeMs, cancel };
  }

  #timeOut(): void {
    this.abandon(new BatonError('turn_timeout', `the turn took longer than ${this.timeoutMs} ms`));
  }
}
