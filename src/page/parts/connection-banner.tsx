import type { Connection } from '../live/live-client.js';
import { clockTime } from '../model/relative-time.js';
import { shownLine } from '../model/shown-text.js';
import { nowMs, useTicking } from './ticker.js';

interface BannerProps {
  readonly connection: Connection;
  retryNow(): void;
}

/** Says that what is shown is old, how old, and when it is tried again. */
export function ConnectionBanner({ connection, retryNow }: BannerProps) {
  if (connection.kind !== 'lost') return null;
  const since = clockTime(new Date(connection.sinceMs).toISOString(), nowMs());
  return (
    <section class="lost" aria-label="Connection">
      <p>
        <strong>Connection lost.</strong> {shownLine(connection.why)} What you see is how it was at {since}.
      </p>
      <Countdown retryAtMs={connection.retryAtMs} retryNow={retryNow} />
    </section>
  );
}

export function Countdown({ retryAtMs, retryNow }: { readonly retryAtMs: number | null; retryNow(): void }) {
  const seconds = useTicking(() =>
    retryAtMs === null ? null : Math.max(1, Math.ceil((retryAtMs - Date.now()) / 1000)),
  );
  return (
    <p class="countdown">
      <span>{seconds === null ? 'Trying again…' : `Trying again in ${seconds} s`}</span>
      <button type="button" class="button plain" aria-disabled={seconds === null} onClick={retryNow}>
        Try now
      </button>
    </p>
  );
}
