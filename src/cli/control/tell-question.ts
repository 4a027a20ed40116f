import { neutralise } from '../../text/neutralise.js';
import type { QuestionView } from '../../status/shapes/entry-shapes.js';
import { chop } from '../../text/terminal-text.js';

const BAR = '  │ ';
const MIN_COLUMNS = 40;

/** A question as lines that nothing is said twice in: agents put the words of a blank into the text, too. */
export function questionLines({ text, fields }: QuestionView): { readonly text: string[]; readonly blanks: string[] } {
  const labels = new Set(fields.map(({ label }) => label.trim()));
  const lines = text.trimEnd().split('\n');
  const [only] = fields;
  if (only && fields.length === 1) {
    const isSaid = only.label.trim() === '' || lines.some((line) => line.trim() === only.label.trim());
    const blank = `${isSaid ? '' : only.label}${choice(only.options)}`.trim();
    return { text: lines, blanks: blank === '' ? [] : [blank] };
  }
  return {
    text: lines.filter((line) => line.trim() === '' || !labels.has(line.trim())),
    blanks: fields.map(({ id, label, options }) => `${id}: ${label === '' ? id : label}${choice(options)}`),
  };
}

/**
 * A question in full, as harmless text. What somebody else wrote stands behind a bar, and is broken here rather than by a terminal of that
 * width: nothing of it can be taken for ours.
 */
export function questionText(question: QuestionView, columns: number | undefined): string {
  const { text, blanks } = questionLines(question);
  return [...text, ...blanks]
    .flatMap((line) => rows(neutralise(line), columns))
    .map((row) => `${BAR}${row}\n`)
    .join('');
}

/** How it can be answered, as flags. */
export function waysToAnswer({ kind, fields }: QuestionView): string {
  if (kind === 'approval' || fields.length === 0) return '--accept or --decline';
  const blanks = fields.map(({ id }) => `--field ${neutralise(id)}=…`).join(' ');
  return fields.length === 1 ? `the answer in words, ${blanks}, or --decline` : `${blanks}, or --decline`;
}

function choice(options: readonly string[]): string {
  return options.length === 0 ? '' : ` (${options.join(' | ')})`;
}

function rows(line: string, columns: number | undefined): string[] {
  return columns === undefined ? [line] : chop(line, Math.max(MIN_COLUMNS, columns) - BAR.length);
}
