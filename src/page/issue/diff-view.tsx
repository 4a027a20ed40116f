import { useMemo, useState } from 'preact/hooks';
import { type DiffFile, diffFiles } from '../model/diff-lines.js';
import { counted } from '../model/numbers.js';
import { shownLine, shownLines } from '../model/shown-text.js';
import { memo } from '../parts/memo.js';

const MAX_LINES = 400;

/** What the turn has changed so far, file by file. */
export const DiffView = memo(function Diff({ diff }: { readonly diff: string }) {
  const files = useMemo(() => diffFiles(shownLines(diff)), [diff]);
  return (
    <section class="diff" aria-labelledby="diff-title">
      <h3 id="diff-title">
        Changes <span class="count">{counted(files.length, 'file')}</span>
      </h3>
      {files.map((file, at) => (
        // A path may come twice; a diff that has grown is another one anyway.
        <FileDiff key={`${at}/${file.path}`} file={file} isOpen={files.length <= 3} />
      ))}
    </section>
  );
}, 'DiffView');

function FileDiff({ file, isOpen }: { readonly file: DiffFile; readonly isOpen: boolean }) {
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
