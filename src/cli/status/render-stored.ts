import { cut, oneLine, withCommand, wrap } from '../../text/terminal-text.js';
import { commandFor, type Entry, type Frame, section } from '../terminal.js';
import { neededYou } from './needs-you.js';
import { together } from '../status-view.js';
import { sayMoment, since } from '../../text/format-duration.js';
import { doneList, parkedList, waitingList } from '../status-lists.js';
import type { StoredView } from './stored-view.js';

export interface StoredFacts {
  /** Which workflow or state directory was looked at. */
  readonly place: string;
  /** `null`: nothing is stored. */
  readonly storedAtMs: number | null;
  /** The command that starts the daemon. */
  readonly start: string;
}

/** What is known while no daemon runs. Pure. */
export function renderStored(view: StoredView, facts: StoredFacts, frame: Frame): string {
  return together([
    storedHeader(view, facts, frame),
    neededYou(view, frame),
    section('Interrupted', view.interrupted.map(interruptedEntry), frame, {
      lines: 10,
      note: 'they go on when the daemon is started',
    }),
    waitingList({ ...view, ready: [] }, frame),
    parkedList(view, frame, false),
    doneList(view, frame),
  ]);
}

function storedHeader({ holds, pausedSince }: StoredView, facts: StoredFacts, frame: Frame): string[] {
  const { paint, width, nowMs } = frame;
  const what =
    facts.storedAtMs === null
      ? 'No daemon is running, and none has stored anything here.'
      : `No daemon is running; this is what was stored at ${sayMoment(facts.storedAtMs, nowMs)}.`;
  const paused = `Paused for ${since(pausedSince, nowMs) ?? '?'}; this lasts over a start, until:`;
  return [
    paint.bold(cut(oneLine(facts.place), width)),
    ...wrap(what, width, 2).map(paint.yellow),
    ...[`To start it: ${oneLine(facts.start)}`].map(paint.dim),
    ...(pausedSince === null ? [] : withCommand(paused, commandFor(frame, 'resume', null), width).map(paint.yellow)),
    ...holds.flatMap(({ code, message }) =>
      wrap(oneLine(`It was on hold (${code}): ${message}`), width, 3).map(paint.red),
    ),
  ];
}

function interruptedEntry({ identifier, title, number }: StoredView['interrupted'][number]): Entry {
  return { identifier, title, right: `run ${number}`, below: [] };
}
