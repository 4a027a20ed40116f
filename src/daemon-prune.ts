import type { Logger } from 'pino';
import type { Clock } from './domain/clock.js';
import type { Store } from './domain/ports.js';
import { pruneTranscripts } from './logging/prune-transcripts.js';

const DAY_MS = 86_400_000;
const TRANSCRIPTS_KEPT = 500;

export interface PruneOptions {
  readonly store: Store;
  readonly transcripts: string;
  readonly clock: Clock;
  readonly log: Logger;
  /** Of the settings in force; `null`: for ever. */
  keepDays(): number | null;
}

/** Forgets what is too old, at the start and once a day until the clock is closed. A failure is told, and tomorrow is another day. */
export function pruneDaily({ store, transcripts, clock, log, keepDays }: PruneOptions): void {
  const warn = (what: string) => (error: Error) => log.warn({ detail: error.message }, what);
  const prune = (): void => {
    clock.after(DAY_MS, prune);
    const days = keepDays();
    if (days !== null) {
      void store.prune({ days, nowMs: clock.now().wallMs }).catch(warn('old records could not be removed'));
    }
    void pruneTranscripts(transcripts, { keep: TRANSCRIPTS_KEPT }).catch(warn('old transcripts could not be removed'));
  };
  prune();
}
