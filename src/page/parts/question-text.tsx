import { lineKind } from '../model/diff-lines.js';
import { shownLines } from '../model/shown-text.js';

/** All of what an agent asks, as it asks it. What is long scrolls in its own place, and nothing is cut off: people say yes to it. */
export function QuestionText({ text, isCode }: { readonly text: string; readonly isCode: boolean }) {
  const lines = shownLines(text).split('\n');
  const mayScroll = lines.length > 12 || text.length > 600;
  const isDiff = lines.some((line) => line.startsWith('@@'));
  return (
    <section
      class={isCode ? 'question-text is-code' : 'question-text'}
      aria-label="Question"
      tabIndex={mayScroll ? 0 : undefined}
    >
      {lines.map((line, at) => (
        <bdi key={at} class={isDiff ? `line ${lineKind(line)}` : 'line'}>
          {line === '' ? '\u00a0' : line}
        </bdi>
      ))}
    </section>
  );
}
