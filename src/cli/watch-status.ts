import type { StateView } from '../api/schemas.js';
import { cut, oneLine, rowsOf, widthOf, wrap } from '../text/terminal-text.js';
import type { DaemonTarget } from './client.js';
import { followDaemon, nextState, untilInterrupted } from './follow-daemon.js';
import type { Io } from './io.js';
import { renderStatus } from './status-view.js';
import { type Frame, heightOfOutput, isTerminal } from './terminal.js';

/** Shows the status for as long as somebody looks. A daemon that ends is waited for. Throws `ApiError`. */
export async function watchStatus(target: DaemonTarget, io: Io, frame: () => Frame): Promise<number> {
  const interruption = untilInterrupted(io);
  let view: StateView | null = null;
  let gone: string | null = null;
  const screen = openScreen(
    io,
    () => draw(view, gone, frame(), isTerminal(io) ? heightOfOutput(io) : null),
    () => `${view === null ? '' : changeKey(view)} ${gone}`,
  );
  try {
    for await (const news of followDaemon(target, '/api/v1/events', io, interruption.signal)) {
      gone = 'gone' in news ? news.gone : null;
      if ('event' in news) view = nextState(view, news.event);
      screen.update();
    }
    return 0;
  } finally {
    screen.close();
    interruption.restore();
  }
}

function draw(view: StateView | null, gone: string | null, frame: Frame, height: number | null): string {
  const { width, paint } = frame;
  const notice = gone === null ? [] : wrap(oneLine(`Nobody is there: ${gone}`), width, 4).map(paint.red);
  const waits =
    gone === null
      ? ''
      : `${notice.join('\n')}\n${paint.dim(cut('Waiting for it to come back (Ctrl-C ends this). What follows is what it said last.', width))}\n\n`;
  if (view === null)
    return gone === null ? '' : `${notice.join('\n')}\n${paint.dim('Waiting for it (Ctrl-C ends this).')}\n`;
  const whole = `${waits}${renderStatus(view, frame)}`;
  // A window does not scroll: where it is too small, every list gives up some lines rather than the last ones all of theirs.
  const isTooMuch = height !== null && rowsOf(whole.trimEnd(), frame.widest) > height;
  return isTooMuch ? `${waits}${renderStatus(view, { ...frame, height })}` : whole;
}

/** Where a text that changes is shown. */
interface LiveScreen {
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
    const next = inPlace(text(), heightOfOutput(io), stdout.columns ?? 80);
    if (next === last) return;
    last = next;
    stdout.write(next);
  });
  const resized = () => {
    last = '';
    paced.now();
  };
  // Ctrl-Z: the person gets their own screen, and finds ours again when they come back.
  let isAway = false;
  const suspend = () => {
    isAway = true;
    stdout.write(LEAVE);
    process.kill(process.pid, 'SIGSTOP');
  };
  const comeBack = () => {
    if (isAway) stdout.write(ENTER);
    isAway = false;
    resized();
  };
  stdout.write(ENTER);
  stdout.on('resize', resized);
  process.on('SIGTSTP', suspend);
  process.on('SIGCONT', comeBack);
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
      process.off('SIGCONT', comeBack);
      stdout.write(LEAVE);
    },
  };
}

/** Every line is written over what stood there; what does not fit would scroll, and is left out. */
function inPlace(text: string, height: number | null, columns: number): string {
  const lines = text.trimEnd().split('\n');
  const fitting = height === null ? lines : fittingLines(lines, height, columns);
  const left = lines.length - fitting.length;
  if (left > 0) fitting.push(`… ${left} more lines: make the window taller`);
  return `\u001b[H${fitting.map((line) => overwritten(line, columns)).join('\r\n')}\u001b[J`;
}

/** All of them, or as many as leave a row for how many are left out. */
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

/**
 * A full row is cleared before it is written: after its last character the cursor still stands on it. What the terminal breaks, a command
 * that is to be copied, is cleared behind its end.
 */
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

/** Equal for two states that a person would call the same: counters and times that only run on are left out. */
export function changeKey(view: StateView): string {
  const { running, asking, retrying, parked, ready, ineligible, done, holds, paused, shutting_down, workflow, poll } =
    view;
  return JSON.stringify([
    running.map((run) => [run.run_id, run.phase, run.step, run.asking, run.stopping, run.turn_count, run.last_message]),
    asking.map(({ run_id, questions }) => [run_id, questions.map(({ id }) => id)]),
    retrying.map(({ issue_id, due_at, error }) => [issue_id, due_at, error]),
    parked.map(({ issue_id, reason, since }) => [issue_id, reason, since]),
    ready.map(({ issue_id, why }) => [issue_id, why !== null]),
    ineligible.length,
    done.map(({ issue_id, finished_at }) => [issue_id, finished_at]),
    holds.map(({ source, code, tries }) => [source, code, tries]),
    [paused !== null, shutting_down, workflow.error, workflow.restart_required],
    [poll.health, poll.error, poll.problems.length],
    view.daemon.pid,
  ]);
}
