import type { Clock } from '../../../src/domain/clock.js';
import { BatonError } from '../../../src/domain/errors.js';

export interface TurnLimits {
  readonly silenceMs: number;
  readonly totalMs: number;
}

export interface FinishedTurn {
  readonly id: string;
  readonly status: string;
  readonly error: unknown;
}

/**
 * One turn, from `turn/start` to its end. It is `starting` until its id is known, then `running`, until the agent reports its end
 * (`ended`) or Baton gives up on it (`abandoned`); only the first end counts. It has two time limits: one for the silence of the agent,
 * which every output restarts, and one for the whole turn. Both count awake time and are paused while a person is asked.
 */
export class Turn {
  readonly finished: Promise<FinishedTurn>;
  #state: 'starting' | 'running' | 'ended' | 'abandoned' = 'starting';
  #id: string | null = null;
  /** Ends that arrived before the reply to `turn/start`, which names our turn. */
  #early: FinishedTurn[] = [];
  #resolve: (turn: FinishedTurn) => void = () => {};
  #reject: (error: Error) => void = () => {};
  /** Time that has counted until the clock was last started, and until the last output. */
  #countedMs = 0;
  #lastOutputMs = 0;
  #running: { readonly sinceMs: number; cancel(): void } | null = null;

  constructor(
    private readonly clock: Clock,
    private readonly limits: TurnLimits,
  ) {
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

  /** The agent has sent something. Cheap: an agent may send thousands of messages a second. */
  outputReceived(): void {
    this.#lastOutputMs = this.#elapsedMs();
  }

  pauseClock(): void {
    if (!this.#running) return;
    this.#countedMs = this.#elapsedMs();
    this.#running.cancel();
    this.#running = null;
  }

  resumeClock(): void {
    if (this.#running || this.#state === 'ended' || this.#state === 'abandoned') return;
    const { silenceMs, totalMs } = this.limits;
    const leftMs = Math.min(this.#lastOutputMs + silenceMs, totalMs) - this.#countedMs;
    const cancel = this.clock.after(Math.max(0, leftMs), () => this.#checkLimits());
    this.#running = { sinceMs: this.clock.now().awakeMs, cancel };
  }

  #elapsedMs(): number {
    return this.#countedMs + (this.#running ? this.clock.now().awakeMs - this.#running.sinceMs : 0);
  }

  /** At the earliest moment at which a limit could be over. */
  #checkLimits(): void {
    this.pauseClock();
    const { silenceMs, totalMs } = this.limits;
    if (this.#countedMs >= totalMs) this.#timeOut(`took longer than ${totalMs} ms (codex.max_turn_ms)`);
    else if (this.#countedMs - this.#lastOutputMs >= silenceMs) {
      this.#timeOut(`had no output for ${silenceMs} ms (codex.turn_timeout_ms)`);
    } else this.resumeClock();
  }

  #timeOut(what: string): void {
    this.abandon(new BatonError('turn_timeout', `the turn ${what}`));
  }
}
