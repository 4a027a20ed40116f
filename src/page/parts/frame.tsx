import type { StateView } from '../../api/schemas.js';
import type { Connection } from '../live/live-client.js';
import { boardHref } from '../model/route.js';
import { shownLine } from '../model/shown-text.js';
import { ActionButton } from './controls.js';
import { useSession } from './session.js';

interface HeaderProps {
  readonly state: StateView;
  readonly connection: Connection;
  onHelp(): void;
}

export function Header({ state, connection, onHelp }: HeaderProps) {
  const { canAct } = useSession();
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
        {canAct ? (
          <>
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
          </>
        ) : null}
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

/** The folder of the workflow is what people call the project. */
function folderOf(path: string): string {
  return path.split(/[\\/]/).slice(-2, -1)[0] ?? '';
}
