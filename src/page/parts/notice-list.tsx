import type { Notice } from '../model/notices.js';
import { shownLine, shownLines } from '../model/shown-text.js';
import { ActionButton } from './controls.js';
import { useSession } from './session.js';
import { Ago, Clock, Sentence } from './time.js';

/** What is the matter with the whole daemon, and what to do about it. */
export function NoticeList({ notices }: { readonly notices: readonly Notice[] }) {
  const { canAct } = useSession();
  if (notices.length === 0) return null;
  return (
    <section class="notices" aria-label="Notices">
      {notices.map(({ id, tone, title, text, action, since, next, isPause }) => (
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
          {isPause && canAct ? (
            <ActionButton path="api/v1/resume" look="primary">
              Resume
            </ActionButton>
          ) : null}
        </div>
      ))}
    </section>
  );
}
