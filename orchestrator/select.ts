import type { Claim } from '../src/domain/claim.js';
import type { Instant } from '../src/domain/clock.js';
import type { Issue } from '../src/domain/issue.js';
import { naturalOrder } from '../src/domain/issue.js';
import { isEligible } from './eligibility.js';
import { SlotCounter } from './slots.js';
import type { State } from './state.js';

export interface Ready {
  readonly issue: Issue;
  /** The waiting claim, or null for a new issue. */
  readonly claim: Claim | null;
}

/** Due retries and eligible candidates in one list, in start order. */
export function readyList(state: State, now: Instant): Ready[] {
  const ready: Ready[] = [];
  for (const claim of Object.values(state.claims)) {
    if (isDue(claim, now) && !(claim.issue.id in state.removals)) ready.push({ issue: claim.issue, claim });
  }
  for (const issue of Object.values(state.candidates)) {
    if (isEligible(issue, state)) ready.push({ issue, claim: null });
  }
  return ready.filter(({ issue }) => isWanted(state, issue.id)).sort(inOrder);
}

/** With `--once`, only issues that are still due may start; otherwise every issue may. */
export function isWanted({ once }: State, issueId: string): boolean {
  return once === null || (once.due?.includes(issueId) ?? false);
}

/** The head of the ready list that fits into the free slots. An issue whose state has no free slot does not block the next one. */
export function pick(state: State, now: Instant): Ready[] {
  const slots = new SlotCounter(state);
  if (slots.full) return [];
  const picked: Ready[] = [];
  for (const entry of readyList(state, now)) {
    if (slots.full) break;
    if (slots.take(entry.issue.state)) picked.push(entry);
  }
  return picked;
}

/** Every ready issue that could take a free slot on its own. */
export function startable(state: State, now: Instant): Ready[] {
  const slots = new SlotCounter(state);
  return slots.full ? [] : readyList(state, now).filter(({ issue }) => slots.hasRoomFor(issue.state));
}

export function isDue(claim: Claim, now: Instant): boolean {
  return claim.status.kind === 'waiting' && claim.status.dueAtMs <= now.wallMs;
}

/** Priority 1 to 4, then all others. Within a priority: retries first, then the oldest, then by identifier in natural order. */
function inOrder(a: Ready, b: Ready): number {
  return (
    rank(a.issue.priority) - rank(b.issue.priority) ||
    Number(a.claim === null) - Number(b.claim === null) ||
    compare(a.issue.created_at ?? LAST, b.issue.created_at ?? LAST) ||
    naturalOrder(a.issue.identifier, b.issue.identifier)
  );
}

/** Sorts after every ISO date. */
const LAST = '~';

function rank(priority: number | null): number {
  return priority !== null && Number.isInteger(priority) && priority >= 1 && priority <= 4 ? priority : 5;
}

function compare(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
