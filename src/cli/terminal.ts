import { shellWord } from '../domain/shell-word.js';
import { neutralise } from '../text/neutralise.js';
import { cut, oneLine, pad, widthOf, wrap } from '../text/terminal-text.js';
import type { Io } from './io.js';

/** What a status is drawn with. */
export interface Frame {
  readonly nowMs: number;
  /** Of sentences, in columns. */
  readonly width: number;
  /** How wide a row may become where its title needs it. */
  readonly widest: number;
  /** Of a screen that does not scroll and is too small for all of it: then lists are shorter. */
  readonly height: number | null;
  readonly paint: Paint;
  /** Every entry of every list. */
  readonly all: boolean;
  /** The flags that name the daemon: none where it is that of this folder. */
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
  /** What somebody else wrote stands behind a bar, each row of it. */
  readonly isQuoted?: boolean;
}

const MAX_IDENTIFIER = 16;
const MIN_TITLE = 12;
/** With so many rows every list has all the lines it may have. */
const TALL = 56;
const FEWEST_LINES = 3;

/** How much of a list there is room for. */
export function linesOf(lines: number, { height }: Frame): number {
  return height === null ? lines : Math.min(lines, Math.max(FEWEST_LINES, Math.floor((lines * height) / TALL)));
}

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
  const room = linesOf(options.lines, frame);
  const width = rowWidth(entries, column, frame);
  let shown = 0;
  for (const entry of entries) {
    const own = entryLines(entry, column, width, frame);
    if (!all && shown > 0 && lines.length + own.length > room + 1) break;
    lines.push(...own);
    shown += 1;
  }
  const left = entries.length - shown;
  if (left > 0) lines.push(paint.dim(`  … and ${left} more (--all)`));
  return lines;
}

/** How a command about an issue is typed by this person, here. */
export function commandFor({ target }: Frame, verb: string, identifier: string | null, flags = ''): string {
  const issue = identifier === null ? '' : ` ${identifier === '<issue>' ? identifier : shellWord(identifier)}`;
  return neutralise(`baton ${verb}${issue}${flags}${target}`);
}

/** As for sentences; wider where a title would be cut although the terminal has room for it. */
function rowWidth(entries: readonly Entry[], column: number, { width, widest }: Frame): number {
  const wanted = entries.map(({ title, right }) => column + 6 + widthOf(oneLine(title)) + widthOf(oneLine(right)));
  return Math.min(widest, Math.max(width, ...wanted));
}

function entryLines({ identifier, title, right, below }: Entry, column: number, width: number, frame: Frame): string[] {
  const { paint } = frame;
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

function lineRows({ text, style = 'dim', maxLines = 1, ...line }: Line, indent: number, frame: Frame): string[] {
  const margin = ' '.repeat(indent);
  if (line.isCommand) return [`${margin}${frame.paint[style](text)}`];
  const bar = line.isQuoted ? '│ ' : '';
  const rows = wrap(oneLine(text), Math.max(20, frame.width - indent) - bar.length, maxLines);
  return rows.map((row) => `${margin}${frame.paint[style](`${bar}${row}`)}`);
}

/** Colours of a terminal, or nothing. */
export interface Paint {
  bold(text: string): string;
  dim(text: string): string;
  red(text: string): string;
  green(text: string): string;
  yellow(text: string): string;
  cyan(text: string): string;
}

export function paintOf(colour: boolean): Paint {
  const style =
    (code: number) =>
    (text: string): string =>
      colour && text !== '' ? `\u001b[${code}m${text}\u001b[0m` : text;
  return { bold: style(1), dim: style(2), red: style(31), green: style(32), yellow: style(33), cyan: style(36) };
}

/** Only for eyes, and for nobody who asked for none: https://no-color.org. */
export function wantsColour({ stdout, env }: { readonly stdout: object; readonly env: NodeJS.ProcessEnv }): boolean {
  const isTerminal = (stdout as { readonly isTTY?: boolean }).isTTY === true;
  return isTerminal && (env.NO_COLOR ?? '') === '' && env.TERM !== 'dumb';
}

const NARROWEST = 40;
/** Eyes do not follow a line over more. */
const WIDEST = 120;
/** Of a pipe or a file. */
const USUAL = 100;

/** Of sentences. */
export function widthOfOutput(io: Pick<Io, 'stdout'>): number {
  return Math.min(WIDEST, columnsOfOutput(io));
}

/** All that is there. */
export function columnsOfOutput({ stdout }: Pick<Io, 'stdout'>): number {
  return Math.max(NARROWEST, stdout.columns ?? USUAL);
}

export function isTerminal({ stdout }: Pick<Io, 'stdout'>): boolean {
  return (stdout as { readonly isTTY?: boolean }).isTTY === true;
}

/** `null` where it is not known. */
export function heightOfOutput({ stdout }: Pick<Io, 'stdout'>): number | null {
  return (stdout as { readonly rows?: number }).rows ?? null;
}
