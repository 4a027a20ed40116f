import type { StateView } from '../api/schemas.js';
import type { Frame } from './terminal.js';
import { ineligibleList } from './status/ineligible-list.js';
import { needsYou } from './status/needs-you.js';
import { statusHeader } from './status/status-header.js';
import { doneList, nextList, parkedList, runningList, waitingList } from './status-lists.js';

/** The state of a daemon for a person at a terminal: who needs them first, then what happens, what comes, what was. Pure. */
export function renderStatus(view: StateView, frame: Frame): string {
  const parts = [
    statusHeader(view, frame),
    needsYou(view, frame),
    runningList(view, frame),
    nextList(view, frame),
    waitingList(view, frame),
    parkedList(view, frame),
    doneList(view, frame),
    ineligibleList(view, frame),
  ];
  return together(parts);
}

/** Parts that say something, with an empty line between them. */
export function together(parts: readonly (readonly string[])[]): string {
  const blocks = parts
    .filter((lines) => lines.length > 0)
    .map((lines) => lines.map((line) => line.trimEnd()).join('\n'));
  return blocks.length === 0 ? '' : `${blocks.join('\n\n')}\n`;
}
