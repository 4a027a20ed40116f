import { widthOf } from '../../text/terminal-text.js';

/** How many rows a text takes on a terminal, which breaks the lines that are wider than it is. */
export function rowsOf(text: string, columns: number): number {
  return text.split('\n').reduce((sum, line) => sum + Math.max(1, Math.ceil(shownWidth(line) / columns)), 0);
}

/** Without the colours. */
export function shownWidth(line: string): number {
  return widthOf(line.replace(COLOUR, ''));
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the colours.
const COLOUR = /\u001b\[\d+m/g;
