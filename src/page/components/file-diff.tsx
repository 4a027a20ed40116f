import { useState } from 'preact/hooks';
import { counted } from '../../text/format-numbers.js';
import type { DiffFile } from '../model/diff-lines.js';
import { shownLine } from '../model/shown-text.js';

const MAX_LINES = 400;

/** The changes of one file. Its texts must be safe to show. */
export function FileDiff({ file, isOpen }: { readonly file: DiffFile; readonly isOpen: boolean }) {
  const [limit, setLimit] = useState(MAX_LINES);
  const left = file.lines.length - limit;
  return (
    <details class="diff-file" open={isOpen}>
      <summary>
        <bdi class="path">{shownLine(file.path)}</bdi> <span class="plus">+{file.added}</span>{' '}
        <span class="minus">−{file.removed}</span>
      </summary>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, and must do so by keyboard too. */}
      <section class="diff-lines" tabIndex={0} aria-label={`Changes of ${file.path}`}>
        {file.lines.slice(0, limit).map(({ kind, text }, at) => (
          <code key={at} class={`line ${kind}`}>
            {text === '' ? '\u00a0' : text}
          </code>
        ))}
      </section>
      {left > 0 ? (
        <button type="button" class="button quiet" onClick={() => setLimit(Number.MAX_SAFE_INTEGER)}>
          Show {counted(left, 'more line')}
        </button>
      ) : null}
    </details>
  );
}
