import type { Clock, Instant } from '../src/domain/clock.js';
import type { Effect } from '../src/domain/effects.js';
import type { OrchestratorEvent } from '../src/domain/events.js';
import { decide, isProgressOnly } from './decide.js';
import type { State } from './state.js';
import { WakeTimer } from './timers.js';
import { nextWakeMs } from './wake.js';

export interface LoopOptions {
  readonly initial: State;
  readonly clock: Clock;
  /** Carries effects out. Must not throw; what comes of them is dispatched. */
  perform(effect: Effect): void;
  /** For those who watch: called after each event with the state it led to. */
  onDecided?(event: OrchestratorEvent, state: State, effects: readonly Effect[]): void;
  /** A bug in the core. Losing an event could leak a slot for ever, so the daemon had better end and recover. */
  onFault(error: unknown, event: OrchestratorEvent): void;
}

/**
 * One inbox, one event at a time, and the only place where the state is assigned. An event that is dispatched while another
 * is being handled waits its turn, so a handler never sees a half-made state.
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

  /** No further event is handled. */
  close(): void {
    this.#isClosed = true;
    this.#inbox.length = 0;
    this.#timer.set(null);
  }

  #drain(): void {
    this.#isDraining = true;
    let lookedAt: Instant | null = null;
    let event = this.#inbox.shift();
    while (event !== undefined) {
      const now = this.#options.clock.now();
      if (!isProgressOnly(event)) lookedAt = now;
      this.#handle(event, now);
      event = this.#inbox.shift();
    }
    this.#isDraining = false;
    if (this.#isClosed) return;
    // Asked as of the last look: what became due since then has not been seen, and must ring.
    if (lookedAt) this.#timer.set(nextWakeMs(this.#state, lookedAt));
    else this.#timer.bringForward(nextWakeMs(this.#state, this.#options.clock.now()));
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
