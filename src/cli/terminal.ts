import { rowsOf, widthOf } from '../text/terminal-text.js';
import type { Io } from './io.js';

/** Styles of a terminal. Without colour every function returns its text. */
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

/** Colours only for a terminal, and not against NO_COLOR: https://no-color.org. */
export function wantsColour({ stdout, env }: { readonly stdout: object; readonly env: NodeJS.ProcessEnv }): boolean {
  const isTerminal = (stdout as { readonly isTTY?: boolean }).isTTY === true;
  return isTerminal && (env.NO_COLOR ?? '') === '' && env.TERM !== 'dumb';
}

const NARROWEST = 40;
/** Longer lines are hard to read. */
const WIDEST = 120;
/** The width for a pipe or a file. */
const USUAL = 100;

/** The width for sentences. */
export function widthOfOutput(io: Pick<Io, 'stdout'>): number {
  return Math.min(WIDEST, columnsOfOutput(io));
}

/** The width of the terminal. */
export function columnsOfOutput({ stdout }: Pick<Io, 'stdout'>): number {
  return Math.max(NARROWEST, stdout.columns ?? USUAL);
}

export function isTerminal({ stdout }: Pick<Io, 'stdout'>): boolean {
  return (stdout as { readonly isTTY?: boolean }).isTTY === true;
}

/** Null when it is unknown. */
export function heightOfOutput({ stdout }: Pick<Io, 'stdout'>): number | null {
  return (stdout as { readonly rows?: number }).rows ?? null;
}

/** Shows a text that changes. */
interface LiveScreen {
  /** Redraws soon, at most four times a second; with `force` at once. */
  update(force?: boolean): void;
  /** Restores the terminal. Safe to call twice. */
  close(): void;
}

const BETWEEN_DRAWS_MS = 250;
/** Redraws without an update, because ages grow. */
const TICK_MS = 1_000;

const ENTER = '\u001b[?1049h\u001b[?25l';
const LEAVE = '\u001b[?25h\u001b[?1049l';

/** Draws in place on the alternate screen of a terminal. Any other output gets the text again whenever `key` changes. */
export function openScreen(io: Pick<Io, 'stdout'>, text: () => string, key: () => string): LiveScreen {
  return isTerminal(io) ? drawInPlace(io, text) : printAgain(io, text, key);
}

function drawInPlace(io: Pick<Io, 'stdout'>, text: () => string): LiveScreen {
  const { stdout } = io;
  let last = '';
  const paced = pace(() => {
    const next = inPlace(text(), heightOfOutput(io), stdout.columns ?? 80);
    if (next === last) return;
    last = next;
    stdout.write(next);
  });
  const resized = () => {
    last = '';
    paced.now();
  };
  // Ctrl-Z restores the normal screen until the process continues.
  let isSuspended = false;
  const suspend = () => {
    isSuspended = true;
    stdout.write(LEAVE);
    process.kill(process.pid, 'SIGSTOP');
  };
  const resume = () => {
    if (isSuspended) stdout.write(ENTER);
    isSuspended = false;
    resized();
  };
  stdout.write(ENTER);
  stdout.on('resize', resized);
  process.on('SIGTSTP', suspend);
  process.on('SIGCONT', resume);
  const tick = setInterval(paced.soon, TICK_MS);
  let isOpen = true;
  return {
    update: (force = false) => (force ? paced.now() : paced.soon()),
    close() {
      if (!isOpen) return;
      isOpen = false;
      clearInterval(tick);
      paced.end();
      stdout.off('resize', resized);
      process.off('SIGTSTP', suspend);
      process.off('SIGCONT', resume);
      stdout.write(LEAVE);
    },
  };
}

/** Overwrites the screen line by line. Lines that do not fit are left out, since they would scroll. */
function inPlace(text: string, height: number | null, columns: number): string {
  const lines = text.trimEnd().split('\n');
  const fitting = height === null ? lines : fittingLines(lines, height, columns);
  const left = lines.length - fitting.length;
  if (left > 0) fitting.push(`… ${left} more lines: make the window taller`);
  return `\u001b[H${fitting.map((line) => overwritten(line, columns)).join('\r\n')}\u001b[J`;
}

/** All lines, or as many as leave a row for the number of the others. */
function fittingLines(lines: readonly string[], height: number, columns: number): string[] {
  if (rowsOf(lines.join('\n'), columns) <= height) return [...lines];
  const fitting: string[] = [];
  let rows = 1;
  for (const line of lines) {
    rows += rowsOf(line, columns);
    if (rows > height) break;
    fitting.push(line);
  }
  return fitting;
}

/** Clears the row before writing, and behind the end unless the row is full: then the cursor still stands on its last character. */
function overwritten(line: string, columns: number): string {
  const isFull = widthOf(line) % columns === 0;
  return `\u001b[K${line}${isFull ? '' : '\u001b[K'}`;
}

function printAgain({ stdout }: Pick<Io, 'stdout'>, text: () => string, key: () => string): LiveScreen {
  let last: string | null = null;
  const paced = pace(() => {
    const next = key();
    if (next === last) return;
    stdout.write(last === null ? text() : `\n${'─'.repeat(40)}\n\n${text()}`);
    last = next;
  });
  return { update: (force = false) => (force ? paced.now() : paced.soon()), close: paced.end };
}

/** Limits the rate of `act`, and never drops the last call. */
function pace(act: () => void): { soon(): void; now(): void; end(): void } {
  let due: NodeJS.Timeout | null = null;
  let lastAt = 0;
  const now = () => {
    if (due) clearTimeout(due);
    due = null;
    lastAt = Date.now();
    act();
  };
  return {
    now,
    soon() {
      if (due) return;
      const wait = lastAt + BETWEEN_DRAWS_MS - Date.now();
      if (wait <= 0) now();
      else due = setTimeout(now, Math.min(wait, BETWEEN_DRAWS_MS));
    },
    end() {
      if (due) clearTimeout(due);
      due = null;
    },
  };
}
