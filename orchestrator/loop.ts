import type { Clock, Instant } from '../src/domain/clock.js';
import type { Effect } from '../src/domain/effects.js';
import type { OrchestratorEvent } from '../src/domain/events.js';
import { decide, isSignal } from './decide.js';
import type { State } from './state.js';
import { WakeTimer } from './timers.js';
import { nextRunWakeMs, nextWakeMs } from './wake.js';

export interface LoopOptions {
  readonly initial: State;
  readonly clock: Clock;
  /** Performs an effect. Must not throw; results come back as events. */
  perform(effect: Effect): void;
  /** Called after each event with the resulting state. */
  onDecided?(event: OrchestratorEvent, state: State, effects: readonly Effect[]): void;
  /** Called when the core throws. A lost event could leak a slot, so the daemon should exit and recover. */
  onFault(error: unknown, event: OrchestratorEvent): void;
}

/**
 * The inbox of the core and the only place that assigns the state. It handles one event at a time: an event dispatched while another
 * is handled waits, so no handler sees an intermediate state.
 */
export class Loop {
  readonly #options: LoopOptions;
  readonly #inbox: OrchestratorEvent[] = [];
  readonly #timer: WakeTimer;
  #state: State;
  #isDraining = false;
  #isClosed = false;

  constructor(options: LoopOptions) {
    this.#options = options;
    this.#state = options.initial;
    this.#timer = new WakeTimer(options.clock, () => this.dispatch({ type: 'ticked' }));
  }

  get state(): State {
    return this.#state;
  }

  readonly dispatch = (event: OrchestratorEvent): void => {
    if (this.#isClosed) return;
    this.#inbox.push(event);
    if (!this.#isDraining) this.#drain();
  };

  /** Stops handling events. */
  close(): void {
    this.#isClosed = true;
    this.#inbox.length = 0;
    this.#timer.set(null);
  }

  #drain(): void {
    this.#isDraining = true;
    let checkedAt: Instant | null = null;
    let event = this.#inbox.shift();
    while (event !== undefined) {
      const now = this.#options.clock.now();
      if (!isSignal(event)) checkedAt = now;
      this.#handle(event, now);
      event = this.#inbox.shift();
    }
    this.#isDraining = false;
    if (this.#isClosed) return;
    // Computed for the time of the last check: what became due since then must still ring.
    if (checkedAt) this.#timer.set(nextWakeMs(this.#state, checkedAt));
    else this.#timer.bringForward(nextRunWakeMs(this.#state, this.#options.clock.now()));
  }

  #handle(event: OrchestratorEvent, now: Instant): void {
    try {
      const { state, effects } = decide(this.#state, event, now);
      this.#state = state;
      this.#options.onDecided?.(event, state, effects);
      for (const effect of effects) this.#options.perform(effect);
    } catch (error) {
      this.#options.onFault(error, event);
    }
  }
}
