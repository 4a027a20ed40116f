import type { TimelineEntry } from '../../status/shapes/issue-shape.js';
import { msOf } from '../../text/format-duration.js';

/** The same line is dated twice, when it happens and when it is written down. */
const SAME_MS = 1_000;
/** So many in a row are no accident. */
const IN_A_ROW = 5;

/**
 * What of `entries` was not seen yet. A stream that begins anew tells its last entries again, and a file tells what a stream told: the last
 * one that was seen is looked for, and those before it must fit. Where nothing fits, everything is new.
 */
export function unseenEntries(
  seen: readonly TimelineEntry[],
  entries: readonly TimelineEntry[],
): readonly TimelineEntry[] {
  if (seen.length === 0) return entries;
  for (let end = entries.length; end > 0; end--) {
    if (endsAlike(seen, entries.slice(Math.max(0, end - IN_A_ROW), end))) return entries.slice(end);
  }
  return entries;
}

function endsAlike(seen: readonly TimelineEntry[], part: readonly TimelineEntry[]): boolean {
  const count = Math.min(seen.length, part.length);
  const [a, b] = [seen.slice(-count), part.slice(-count)];
  return a.every((entry, at) => isSame(entry, b[at]));
}

function isSame(a: TimelineEntry, b: TimelineEntry | undefined): boolean {
  if (b === undefined || a.kind !== b.kind || a.text !== b.text) return false;
  const [first, second] = [msOf(a.at), msOf(b.at)];
  return first === null || second === null ? first === second : Math.abs(first - second) <= SAME_MS;
}
