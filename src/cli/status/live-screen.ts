import type { Io } from '../io.js';
import { heightOfOutput, isTerminal } from './terminal-size.js';

/** Where a text that changes is shown. */
export interface LiveScreen {
  /** There is something new: drawn soon, and not too often. `force`: at once. */
  update(force?: boolean): void;
  /** As it was before. Safe to call twice. */
  close(): void;
}

/** Four times a second is as fast as anybody reads. */
const BETWEEN_DRAWS_MS = 250;
/** Ages grow by themselves. */
const TICK_MS = 1_000;

const ENTER = '\u001b[?1049h\u001b[?25l';
const LEAVE = '\u001b[?25h\u001b[?1049l';

/**
 * On a terminal the text is drawn in place, on the screen that terminals keep beside their own; anywhere else it is printed again, below a
 * line, whenever `key` says that it has become another.
 */
export function openScreen(io: Pick<Io, 'stdout'>, text: () => string, key: () => string): LiveScreen {
  return isTerminal(io) ? drawInPlace(io, text) : printAgain(io, text, key);
}

function drawInPlace(io: Pick<Io, 'stdout'>, text: () => string): LiveScreen {
  const { stdout } = io;
  let last = '';
  const paced = pace(() => {
    const next = inPlace(text(), heightOfOutput(io));
    if (next === last) return;
    last = next;
    stdout.write(next);
  });
  const resized = () => {
    last = '';
    paced.now();
  };
  stdout.write(ENTER);
  stdout.on('resize', resized);
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
      stdout.write(LEAVE);
    },
  };
}

/** Every line is written over what stood there; what does not fit would scroll, and is left out. */
function inPlace(text: string, height: number | null): string {
  const lines = text.trimEnd().split('\n');
  const fitting = height === null || lines.length <= height ? lines : lines.slice(0, Math.max(1, height - 1));
  if (fitting.length < lines.length)
    fitting.push(`… ${lines.length - fitting.length} more lines: make the window taller`);
  return `\u001b[H${fitting.map((line) => `${line}\u001b[K`).join('\r\n')}\u001b[J`;
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

/** Calls at most every quarter of a second, and never drops the last call. */
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
