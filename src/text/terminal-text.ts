import { neutralise } from './neutralise.js';

/** What somebody else wrote, as one line that is harmless on a terminal. */
export function oneLine(text: string): string {
  return neutralise(text.slice(0, MAX_CHARS).replace(/\s+/gu, ' ').trim()).replace(/\p{Cs}/gu, '\ufffd');
}

/** No line is so wide; of a text that never ends the rest need not be looked at. */
const MAX_CHARS = 20_000;

/** How many columns a text takes at most: what would be too narrow lets the terminal break the line, so in doubt wide. */
export function widthOf(text: string): number {
  let width = 0;
  for (const character of text) width += columnsOf(character);
  return width;
}

/** At most so many columns; what was left out shows as `…`. */
export function cut(text: string, columns: number): string {
  if (widthOf(text) <= columns) return text;
  let kept = '';
  let width = 1;
  for (const character of text) {
    width += columnsOf(character);
    if (width > columns) break;
    kept += character;
  }
  return columns < 1 ? '' : `${kept.trimEnd()}…`;
}

/** Exactly so many columns, as far as that is known. */
export function pad(text: string, columns: number): string {
  const fitting = cut(text, columns);
  return `${fitting}${' '.repeat(Math.max(0, columns - widthOf(fitting)))}`;
}

/** Broken between words into lines of that width, at most so many of them. */
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

/** A text and the command that it leads to, which is to be copied and so never broken. */
export function withCommand(text: string, command: string, columns: number): string[] {
  const line = `${text} ${command}`;
  return widthOf(line) <= columns ? [line] : [...wrap(text, columns, 4), `  ${command}`];
}

/** With the full stop that a sentence has. */
export function withStop(text: string): string {
  const bare = text.trim();
  return bare === '' || /[.!?]$/.test(bare) ? bare : `${bare}.`;
}

/** Facts beside each other, as many as fit on a line. */
export function joined(texts: readonly string[], width: number): string[] {
  const lines: string[] = [];
  for (const text of texts) {
    const last = lines.at(-1);
    const longer = `${last} · ${text}`;
    if (last !== undefined && widthOf(longer) <= width) lines[lines.length - 1] = longer;
    else lines.push(text);
  }
  return lines;
}

/** Broken wherever the line is full, blanks and all. At least one piece. */
export function chop(text: string, columns: number): string[] {
  const pieces: string[] = [];
  let piece = '';
  let width = 0;
  for (const character of text) {
    const own = columnsOf(character);
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

/** Latin, Greek, Cyrillic; dashes, quotes, the ellipsis; arrows and signs that we use ourselves. */
const NARROW =
  /^[ -\u02ff\u0370-\u052f\u1e00-\u1fff\u2010-\u2027\u2030-\u205e\u20a0-\u20bf\u2190-\u21ff\u2500-\u259f✓▶]$/u;

function columnsOf(character: string): number {
  return NARROW.test(character) ? 1 : 2;
}
