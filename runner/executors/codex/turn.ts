import type { Clock } from '../../../src/domain/clock.js';
import { BatonError } from '../../../src/domain/errors.js';

export interface FinishedTurn {
  readonly id: string;
  readonly status: string;
  readonly error: unknown;
}

/**
 * One turn, from `turn/start` to its end. It is `starting` until its id is known, then `running`, until the agent reports its end
 * (`ended`) or Baton gives up on it (`abandoned`); only the first end counts. Its time limit counts awake time and is paused while
 * a person is asked.
 */
export class Turn {
  readonly finished: Promise<FinishedTurn>;
  #state: 'starting' | 'running' | 'ended' | 'abandoned' = 'starting';
  #id: string | null = null;
  /** Ends that arrived before the reply to `turn/start`, which names our turn. */
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
    // It may be abandoned before it is awaited: the reply to turn/start comes first.
    this.finished.catch(() => {});
    this.resumeClock();
  }

  /** `null` unless the turn is running; only then it can be steered or interrupted. */
  get activeId(): string | null {
    return this.#state === 'running' ? this.#id : null;
  }

  /** True until the agent reports the end of this turn. */
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
