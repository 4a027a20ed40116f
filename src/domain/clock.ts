/**
 * Time as the engine sees it. `awakeMs` does not advance while the machine sleeps or the daemon is stopped, so that
 * sleep never counts as an agent's silence or towards a timeout; it starts anew with each process. `wallMs` is for due times
 * that outlive the process and for people.
 */
export interface Instant {
  readonly wallMs: number;
  readonly awakeMs: number;
  /** The local calendar day, `YYYY-MM-DD`, and when it ends: daily budgets. */
  readonly day: string;
  readonly dayEndsAtMs: number;
}

export interface Clock {
  now(): Instant;
  /** Calls back once `awakeMs` has advanced by `delayMs`. The returned function cancels; cancelling twice is fine. */
  after(delayMs: number, callback: () => void): () => void;
}
