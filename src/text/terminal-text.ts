import { stripVTControlCharacters } from 'node:util';
import { eastAsianWidth } from 'get-east-asian-width';
import { neutralise } from './neutralise.js';

/** Text laid out for a terminal: measured, cut, padded, wrapped. */

/** No line is this wide, so that the end of a longer text need not be processed. */
const MAX_CHARS = 20_000;

/** Text of agents and trackers as one line that is harmless on a terminal. */
export function oneLine(text: string): string {
  return neutralise(text.slice(0, MAX_CHARS).replace(/\s+/gu, ' ').trim()).replace(/\p{Cs}/gu, '\ufffd');
}

/**
 * How many columns a text takes at most; escape sequences for colours take none. Every character counts on its own, marks and the parts of
 * an emoji too: if a text were wider than it was measured, the terminal would break its line, and foreign text could begin a row.
 */
export function widthOf(text: string): number {
  if (ASCII.test(text)) return text.length;
  let width = 0;
  for (const character of stripVTControlCharacters(text)) width += widthOfCharacter(character);
  return width;
}

const ASCII = /^[ -~]*$/;

function widthOfCharacter(character: string): number {
  return eastAsianWidth(character.codePointAt(0) ?? 0);
}

/** Cuts a text to that many columns. A cut text ends with `…`. */
export function cut(text: string, columns: number): string {
  if (widthOf(text) <= columns) return text;
  if (columns < 1) return '';
  const [start = ''] = chop(text, columns - 1);
  return columns === 1 || widthOf(start) > columns - 1 ? '…' : `${start.trimEnd()}…`;
}

/** Cuts a text to that many columns or fills them up with blanks. */
export function pad(text: string, columns: number, align: 'left' | 'right' = 'left'): string {
  const fitting = cut(text, columns);
  const blanks = ' '.repeat(Math.max(0, columns - widthOf(fitting)));
  return align === 'left' ? fitting + blanks : blanks + fitting;
}

/** Wraps a text between words; a word that is wider than a line is broken. The last of `maxLines` lines is cut. */
export function wrap(text: string, columns: number, maxLines: number): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    const longer = line === '' ? word : `${line} ${word}`;
    if (widthOf(longer) <= columns) {
      line = longer;
      continue;
    }
    if (line !== '') lines.push(line);
    const pieces = chop(word, columns);
    lines.push(...pieces.slice(0, -1));
    line = pieces.at(-1) ?? '';
    if (lines.length > maxLines) break;
  }
  if (line !== '') lines.push(line);
  if (lines.length <= maxLines) return lines;
  return [...lines.slice(0, maxLines - 1), cut(`${lines[maxLines - 1]} ${lines[maxLines]}`, columns)];
}

/** Breaks a text wherever a line is full, without regard to words. Returns at least one piece. */
export function chop(text: string, columns: number): string[] {
  const pieces: string[] = [];
  let piece = '';
  let width = 0;
  for (const character of text) {
    const own = widthOfCharacter(character);
    if (width + own > columns && piece !== '') {
      pieces.push(piece);
      piece = '';
      width = 0;
    }
    piece += character;
    width += own;
  }
  return [...pieces, piece];
}

/** On a narrower terminal nothing is wrapped. */
const MIN_COLUMNS = 40;

/**
 * Wraps the lines of a text as the terminal would, between words where possible, and indents the rows that follow: only our own text begins
 * a row, however long the text of an agent is. Without a width the text stays as it is.
 */
export function wrapIndented(text: string, columns: number | undefined, indent: string): string {
  if (columns === undefined || columns < MIN_COLUMNS) return text;
  return text
    .split('\n')
    .flatMap((line) => indentedRows(line, columns, indent))
    .join('\n');
}

function indentedRows(line: string, columns: number, indent: string): string[] {
  const rows: string[] = [];
  let row = '';
  let width = 0;
  for (const character of line) {
    const own = widthOfCharacter(character);
    if (width + own > columns) {
      const blank = row.lastIndexOf(' ');
      const end = blank > columns / 2 ? blank : row.length;
      rows.push(row.slice(0, end).trimEnd());
      row = indent + row.slice(end).trimStart();
      width = widthOf(row);
    }
    row += character;
    width += own;
  }
  return [...rows, row];
}

/** A text and the command it refers to. The command is to be copied and is never broken. */
export function withCommand(text: string, command: string, columns: number): string[] {
  const line = `${text} ${command}`;
  return widthOf(line) <= columns ? [line] : [...wrap(text, columns, 4), `  ${command}`];
}

/** Ends a sentence with a full stop unless it has one. */
export function withStop(text: string): string {
  const bare = text.trim();
  return bare === '' || /[.!?]$/.test(bare) ? bare : `${bare}.`;
}

/** Short facts separated by `·`, as many as fit on each line. */
export function joinFacts(facts: readonly string[], columns: number): string[] {
  const lines: string[] = [];
  for (const fact of facts) {
    const last = lines.at(-1);
    const longer = `${last} · ${fact}`;
    if (last !== undefined && widthOf(longer) <= columns) lines[lines.length - 1] = longer;
    else lines.push(fact);
  }
  return lines;
}

/** How many rows a text takes on a terminal that breaks wider lines. */
export function rowsOf(text: string, columns: number): number {
  return text.split('\n').reduce((sum, line) => sum + Math.max(1, Math.ceil(widthOf(line) / columns)), 0);
}
