import type { Connection } from '../live/live-client.js';
import { shownLine } from '../model/shown-text.js';
import { Countdown } from './connection-banner.js';

interface StartScreenProps {
  readonly connection: Connection;
  readonly hasToken: boolean;
  retryNow(): void;
}

/** All there is to see while nothing is known: being connected, out of reach, or not let in. */
export function StartScreen({ connection, hasToken, retryNow }: StartScreenProps) {
  return (
    <main class="start">
      <svg class="start-mark" viewBox="0 0 32 32" aria-hidden="true">
        <path class="brand-stick" d="M7 26 22 9" />
        <circle class="brand-tip" cx="23.5" cy="7.5" r="4.5" />
      </svg>
      {connection.kind === 'refused' ? (
        <Refused status={connection.status} why={connection.why} hasToken={hasToken} />
      ) : connection.kind === 'lost' ? (
        <>
          <h1>The daemon cannot be reached</h1>
          <p>
            {shownLine(connection.why)} On its machine, <code>baton status</code> says whether it is running.
          </p>
          <Countdown retryAtMs={connection.retryAtMs} retryNow={retryNow} />
        </>
      ) : (
        <>
          <h1>Baton</h1>
          <p class="connecting">Connecting to the daemon…</p>
        </>
      )}
    </main>
  );
}

function Refused({
  status,
  why,
  hasToken,
}: {
  readonly status: number;
  readonly why: string;
  readonly hasToken: boolean;
}) {
  if (status !== 401) {
    return (
      <>
        <h1>Not served here</h1>
        <p>{shownLine(why)}</p>
      </>
    );
  }
  return (
    <>
      <h1>{hasToken ? 'This token is not valid any more' : 'This page needs a token'}</h1>
      <p>
        Run <code>baton open</code> on the machine of the daemon, and use the address that it prints: the token is in
        it.
      </p>
    </>
  );
}
