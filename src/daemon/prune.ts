import type { Logger } from 'pino';
import { type Clock, DAY_MS } from '../domain/clock.js';
import type { Store } from '../domain/ports.js';
import { pruneTranscripts } from '../logging/transcript.js';

const MAX_TRANSCRIPTS = 500;
const RUNS_BETWEEN = 50;

export interface PruneOptions {
  readonly store: Store;
  readonly transcripts: string;
  readonly clock: Clock;
  readonly log: Logger;
  /** From the settings in force; null: keep for ever. */
  keepDays(): number | null;
  liveRunIds(): readonly string[];
}

export interface Pruning {
  /** A transcript was added. */
  runEnded(): void;
}

/**
 * Removes old records and transcripts at the start and once a day until the clock is closed, transcripts also after every
 * `RUNS_BETWEEN` runs. Failures are logged and tried again the next time.
 */
export function startPruning(options: PruneOptions): Pruning {
  const { store, clock, log } = options;
  let runs = 0;
  const warn = (what: string) => (error: Error) => log.warn({ detail: error.message }, what);
  const transcripts = (): void => {
    const liveRunIds = options.liveRunIds();
    void pruneTranscripts(options.transcripts, { keep: MAX_TRANSCRIPTS, liveRunIds }).catch(
      warn('old transcripts could not be removed'),
    );
  };
  const daily = (): void => {
    clock.after(DAY_MS, daily);
    transcripts();
    const days = options.keepDays();
    if (days === null) return;
    void store.prune({ days, nowMs: clock.now().wallMs }).catch(warn('old records could not be removed'));
  };
  daily();
  return {
    runEnded() {
      runs += 1;
      if (runs % RUNS_BETWEEN === 0) transcripts();
    },
  };
}
