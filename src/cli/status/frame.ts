import { neutralise } from '../../domain/neutralise.js';
import { shellWord } from '../../domain/shell-word.js';
import { cut, oneLine, pad, widthOf, wrap } from './fit-text.js';
import type { Paint } from './paint.js';

/** What a status is drawn with. */
export interface Frame {
  readonly nowMs: number;
  /** In columns. */
  readonly width: number;
  readonly paint: Paint;
  /** Every entry of every list. */
  readonly all: boolean;
  /** How this person calls Baton, and the flags that name the daemon: none where it is that of this folder. */
  readonly command: string;
  readonly target: string;
}

/** One entry of a list: its first line, and what is told below it. */
export interface Entry {
  readonly identifier: string;
  readonly title: string;
  readonly right: string;
  readonly below: readonly Line[];
}

export interface Line {
  readonly text: string;
  readonly style?: keyof Paint;
  /** Without it one. */
  readonly maxLines?: number;
  /** To be copied: never broken, never cut. */
  readonly isCommand?: boolean;
}

const MAX_IDENTIFIER = 16;
const MIN_TITLE = 12;

/** A heading and the entries below it, so many lines of them at most; nothing where there are none. */
export function section(
  heading: string,
  entries: readonly Entry[],
  frame: Frame,
  options: { readonly lines: number; readonly style?: keyof Paint; readonly note?: string },
): string[] {
  if (entries.length === 0) return [];
  const { paint, all } = frame;
  const column = Math.min(MAX_IDENTIFIER, Math.max(...entries.map(({ identifier }) => widthOf(oneLine(identifier)))));
  const note = options.note === undefined ? '' : `: ${oneLine(options.note)}`;
  const title = `${heading} (${entries.length})`;
  const lines = [`${paint[options.style ?? 'bold'](title)}${cut(note, frame.width - widthOf(title))}`];
  let shown = 0;
  for (const entry of entries) {
    const own = entryLines(entry, column, frame);
    if (!all && shown > 0 && lines.length + own.length > options.lines + 1) break;
    lines.push(...own);
    shown += 1;
  }
  const left = entries.length - shown;
  if (left > 0) lines.push(paint.dim(`  … and ${left} more (--all)`));
  return lines;
}

/** How a command about an issue is typed by this person, here. */
export function commandFor({ command, target }: Frame, verb: string, identifier: string | null, flags = ''): string {
  const issue = identifier === null ? '' : ` ${identifier === '<issue>' ? identifier : shellWord(identifier)}`;
  return neutralise(`${command} ${verb}${issue}${flags}${target}`);
}

function entryLines({ identifier, title, right, below }: Entry, column: number, frame: Frame): string[] {
  const { width, paint } = frame;
  const indent = column + 4;
  const rightText = oneLine(right);
  const forTitle = width - indent - widthOf(rightText) - 2;
  const isBeside = rightText !== '' && forTitle >= MIN_TITLE;
  const name = paint.cyan(pad(oneLine(identifier), column));
  const first = isBeside
    ? `  ${name}  ${pad(oneLine(title), forTitle)}  ${paint.dim(rightText)}`
    : `  ${name}  ${cut(oneLine(title), width - indent)}`;
  const more: Line[] = isBeside || rightText === '' ? [...below] : [{ text: rightText }, ...below];
  return [first, ...more.flatMap((line) => lineRows(line, indent, frame))];
}

function lineRows({ text, style = 'dim', maxLines = 1, isCommand = false }: Line, indent: number, frame: Frame) {
  const margin = ' '.repeat(indent);
  if (isCommand) return [`${margin}${frame.paint[style](text)}`];
  const rows = wrap(oneLine(text), Math.max(20, frame.width - indent), maxLines);
  return rows.map((row) => `${margin}${frame.paint[style](row)}`);
}
