import { neutralise } from '../text/neutralise.js';

/** A foreign text on one line, harmless on a terminal. */
export function oneLine(text: string): string {
  return neutralise(text.replace(/\s+/gu, ' ').trim()).replace(/\p{Cs}/gu, '\ufffd');
}

/** No wider than that. */
export function cut(text: string, columns: number): string {
  if (widthOf(text) <= columns) return text;
  let kept = '';
  let width = 1;
  for (const character of text) {
    width += characterWidth(character);
    if (width > columns) break;
    kept += character;
  }
  return `${kept}…`;
}

export function pad(text: string, columns: number, align: 'left' | 'right'): string {
  const space = ' '.repeat(Math.max(0, columns - widthOf(text)));
  return align === 'left' ? text + space : space + text;
}

const MIN_COLUMNS = 40;

/**
 * Breaks a line as the terminal would, between words where that is possible, and indents what goes on: what stands at the
 * beginning of a row is ours.
 */
export function fold(line: string, columns: number | undefined, indent: string): string {
  if (columns === undefined || columns < MIN_COLUMNS) return line;
  const rows: string[] = [];
  let row = '';
  for (const character of line) {
    if (widthOf(row) + characterWidth(character) > columns) {
      const space = row.lastIndexOf(' ');
      const at = space > columns / 2 ? space : row.length;
      rows.push(row.slice(0, at).trimEnd());
      row = indent + row.slice(at).trimStart();
    }
    row += character;
  }
  return [...rows, row].join('\n');
}

/** In columns of a terminal; in doubt more. */
export function widthOf(text: string): number {
  let width = 0;
  for (const character of text) width += characterWidth(character);
  return width;
}

/** Alphabets, punctuation, arrows and signs take one column, marks no more than that; the rest may take two. */
function characterWidth(character: string): number {
  const code = character.codePointAt(0) ?? 0;
  return code < 0x1100 || (code >= 0x1e00 && code < 0x2300) ? 1 : 2;
}
