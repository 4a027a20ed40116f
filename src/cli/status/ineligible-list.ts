import type { StateView } from '../../api/schemas.js';
import { cut, oneLine, wrap } from '../../text/terminal-text.js';
import { commandFor, type Frame, linesOf } from '../terminal.js';
import { localTimes } from '../../text/format-duration.js';

const MOST_REASONS = 3;

/** They are many, and most are none of our business: by the first reason of each, what keeps most of them first. */
export function ineligibleList({ ineligible }: Pick<StateView, 'ineligible'>, frame: Frame): string[] {
  if (ineligible.length === 0) return [];
  const groups = [...byReason(ineligible)].sort(([, a], [, b]) => b.length - a.length);
  const shown = frame.all ? groups : groups.slice(0, linesOf(MOST_REASONS, frame));
  const left = groups.length - shown.length;
  return [
    `Not eligible (${ineligible.length})`,
    ...shown.flatMap(([why, issues]) => groupRows(why, issues, frame)),
    ...(left === 0 ? [] : [`  … and ${left === 1 ? 'one more reason' : `${left} more reasons`} (--all)`]),
    `Every rule of one: ${commandFor(frame, 'explain', '<issue>')}`,
  ].map(frame.paint.dim);
}

function byReason(ineligible: StateView['ineligible']): Map<string, StateView['ineligible']> {
  const groups = new Map<string, StateView['ineligible']>();
  for (const issue of ineligible) {
    const why = oneLine(issue.reasons[0]?.why ?? 'no reason');
    const group = groups.get(why);
    if (group) group.push(issue);
    else groups.set(why, [issue]);
  }
  return groups;
}

function groupRows(why: string, issues: StateView['ineligible'], { all, width, nowMs }: Frame): string[] {
  const names = issues.map(({ issue_identifier }) => oneLine(issue_identifier)).join(', ');
  const many = issues.length === 1 ? '' : ` (${issues.length})`;
  const text = `${localTimes(why, nowMs)}${many}: ${names}`;
  if (!all) return [`  ${cut(text, width - 2)}`];
  return wrap(text, width - 4, Number.POSITIVE_INFINITY).map((row, at) => `${at === 0 ? '  ' : '    '}${row}`);
}
