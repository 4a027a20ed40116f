import { useEffect, useRef, useState } from 'preact/hooks';
import type { StateView } from '../../api/schemas.js';
import { counted } from '../../text/format-numbers.js';
import type { Connection } from '../live/live-client.js';
import { diffFiles } from '../model/diff-lines.js';
import type { Notice } from '../model/notices.js';
import { clockTime } from '../model/numbers.js';
import type { Need } from '../model/question-cards.js';
import { boardHref } from '../model/route.js';
import { shownLine, shownLines } from '../model/shown-text.js';
import { ActionButton, Ago, Clock, Sentence } from './controls.js';
import { FileDiff } from './file-diff.js';
import { nowMs, useTicking } from './ticker.js';

interface HeaderProps {
  readonly state: StateView;
  readonly connection: Connection;
  onHelp(): void;
}

export function Header({ state, connection, onHelp }: HeaderProps) {
  const isLive = connection.kind === 'live';
  return (
    <header class="bar-top">
      <a class="brand" href={boardHref()} aria-label="Baton, all issues">
        <svg viewBox="0 0 32 32" aria-hidden="true">
          <path class="brand-stick" d="M7 26 22 9" />
          <circle class="brand-tip" cx="23.5" cy="7.5" r="4.5" />
        </svg>
        <span>Baton</span>
      </a>
      <span class="project" title={shownLine(state.workflow.path)}>
        {shownLine(folderOf(state.workflow.path))}
      </span>
      <span class="connection">
        <span class={isLive ? 'dot dot-good' : 'dot dot-bad'} aria-hidden="true" />
        {isLive ? 'Live' : 'Not connected'}
      </span>
      <span class="top-actions">
        <ActionButton path="api/v1/refresh" label="Refresh: read the tracker now" look="quiet">
          Refresh
        </ActionButton>
        {state.paused === null ? (
          <ActionButton key="pause" path="api/v1/pause" look="quiet">
            Pause
          </ActionButton>
        ) : (
          <ActionButton key="resume" path="api/v1/resume" look="quiet">
            Resume
          </ActionButton>
        )}
        <button
          type="button"
          class="button quiet"
          aria-label="Keyboard shortcuts"
          title="Keyboard shortcuts"
          onClick={onHelp}
        >
          ?
        </button>
      </span>
    </header>
  );
}

/** The folder of the workflow, which users know as the project. */
function folderOf(path: string): string {
  return path.split(/[\\/]/).slice(-2, -1)[0] ?? '';
}

interface BannerProps {
  readonly connection: Connection;
  retryNow(): void;
}

/** Shows that the data is old, why, and when the page tries again. */
export function ConnectionBanner({ connection, retryNow }: BannerProps) {
  if (connection.kind === 'refused') {
    return (
      <section class="lost" aria-label="Connection">
        <p>
          <strong>Not connected any more.</strong> <Sentence text={shownLine(connection.why)} />
        </p>
      </section>
    );
  }
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

function Countdown({ retryAtMs, retryNow }: { readonly retryAtMs: number | null; retryNow(): void }) {
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

/** Announces new questions and changes of the connection to screen readers. */
export function Announcer({ needs, connection }: { readonly needs: readonly Need[]; readonly connection: Connection }) {
  return (
    <div class="unseen">
      <p role="status">{useNeedNews(needs)}</p>
      <p role="status">{useConnectionNews(connection.kind)}</p>
    </div>
  );
}

function useNeedNews(needs: readonly Need[]): string {
  const known = useRef<ReadonlySet<string>>(new Set());
  const [news, setNews] = useState('');
  useEffect(() => {
    const added = needs.filter(({ questions }) => questions.some(({ id }) => !known.current.has(id)));
    known.current = new Set(needs.flatMap(({ questions }) => questions.map(({ id }) => id)));
    const [first] = added;
    if (first && added.length === 1) setNews(`${shownLine(first.issue.issue_identifier)} needs you.`);
    else if (added.length > 1) setNews(`${counted(added.length, 'issue')} need you.`);
    else if (needs.length === 0) setNews('');
  }, [needs]);
  return news;
}

function useConnectionNews(kind: Connection['kind']): string {
  const wasLost = useRef(false);
  if (kind === 'lost' || kind === 'refused') wasLost.current = true;
  if (kind === 'lost' || kind === 'refused') return 'Connection to the daemon lost.';
  return kind === 'live' && wasLost.current ? 'Connected again.' : '';
}

interface StartScreenProps {
  readonly connection: Connection;
  readonly hasToken: boolean;
  retryNow(): void;
}

/** Shown before the first state: connecting, not reachable, or refused. */
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
        <h1>Access refused</h1>
        <p>
          <Sentence text={shownLine(why)} />
        </p>
      </>
    );
  }
  return (
    <>
      <h1>{hasToken ? 'Open this page again' : 'Open this page with a command'}</h1>
      <p>
        {hasToken
          ? 'The daemon was started again since this page was opened, or another program has taken its port. '
          : 'Only the user of the daemon may look here. '}
        Run <code>baton open</code> on the machine of the daemon, in the folder of its <code>WORKFLOW.md</code>. It
        opens the page with the right to read and to act, until the daemon ends.
      </p>
    </>
  );
}

/** Notices about the whole daemon. */
export function NoticeList({ notices }: { readonly notices: readonly Notice[] }) {
  if (notices.length === 0) return null;
  return (
    <section class="notices" aria-label="Notices">
      {notices.map(({ id, tone, title, text, action, since, next, isPause, diff }) => (
        <div key={id} class={`notice notice-${tone}`}>
          <p class="notice-title">
            <strong>{shownLine(title)}</strong>
            <span class="faint">
              {since === null ? null : 'since '}
              <Clock at={since} />
              {next === null ? null : (
                <>
                  {since === null ? '' : ' · '}
                  {next.label} <Ago at={next.at} />
                </>
              )}
            </span>
          </p>
          <p class="notice-text">
            <Sentence text={shownLines(text)} />
          </p>
          {action === null ? null : (
            <p class="notice-action">
              <Sentence text={shownLine(action)} />
            </p>
          )}
          {diff === null || diff === ''
            ? null
            : diffFiles(shownLines(diff)).map((file) => <FileDiff key={file.path} file={file} isOpen={false} />)}
          {isPause ? (
            <ActionButton path="api/v1/resume" look="primary">
              Resume
            </ActionButton>
          ) : null}
        </div>
      ))}
    </section>
  );
}
