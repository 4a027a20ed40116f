import { neutralise } from '../../domain/neutralise.js';
import type { QuestionView } from '../../status/shapes/entry-shapes.js';
import { widthOf } from '../status/fit-text.js';

const BAR = '  │ ';
const MIN_COLUMNS = 40;

/**
 * A question in full, as harmless text. What somebody else wrote stands behind a bar, and is broken here rather than by a terminal of that
 * width: nothing of it can be taken for ours.
 */
export function questionText(question: QuestionView, columns: number | undefined): string {
  const fields = question.fields.map(({ id, label, options }) => {
    const choice = options.length === 0 ? '' : ` (${options.join(' | ')})`;
    return `${id}: ${label === '' ? id : label}${choice}`;
  });
  return [...question.text.trimEnd().split('\n'), ...fields]
    .flatMap((line) => rows(neutralise(line), columns))
    .map((row) => `${BAR}${row}\n`)
    .join('');
}

/** How it can be answered, as flags. */
export function waysToAnswer({ kind, fields }: QuestionView): string {
  if (kind === 'approval') return '--accept or --decline';
  const [only] = fields;
  if (only === undefined) return '--decline';
  const blanks = fields.map(({ id }) => `--field ${neutralise(id)}=…`).join(' ');
  return fields.length === 1 ? `the answer as one argument, ${blanks}, or --decline` : `${blanks}, or --decline`;
}

function rows(line: string, columns: number | undefined): string[] {
  if (columns === undefined) return [line];
  const room = Math.max(MIN_COLUMNS, columns) - BAR.length;
  const found: string[] = [];
  let row = '';
  let width = 0;
  for (const character of line) {
    const own = widthOf(character);
    if (width + own > room) {
      found.push(row);
      row = '';
      width = 0;
    }
    row += character;
    width += own;
  }
  return [...found, row];
}
