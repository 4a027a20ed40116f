import type { Claim } from '../src/domain/claim.js';
import type { Instant } from '../src/domain/clock.js';
import type { Issue } from '../src/domain/issue.js';
import { naturalOrder } from '../src/domain/issue.js';
import type { Draft } from './draft.js';
import { canEverStart, isEligible } from './eligibility.js';
import { SlotCounter } from './slots.js';
import type { State } from './state.js';

export interface Ready {
  readonly issue: Issue;
  /** The waiting claim, or null for a new issue. */
  readonly claim: Claim | null;
}

/** Due retries and eligible candidates in one list, in start order. */
export function readyList(state: State, now: Instant): Ready[] {
  const ready = dueList(state, now);
  for (const issue of Object.values(state.candidates)) {
    if (isEligible(issue, state)) ready.push({ issue, claim: null });
  }
  return ready.filter(({ issue }) => isWanted(state, issue.id)).sort(inOrder);
}

/** The same one by one. It looks only at as much of the line as is taken, because it is asked after every event. */
function* readyOneByOne(state: State, now: Instant): Generator<Ready> {
  const due = dueList(state, now).sort(inOrder);
  let next = 0;
  for (const id of state.line) {
    const issue = state.candidates[id];
    if (issue === undefined || !isEligible(issue, state)) continue;
    const ready: Ready = { issue, claim: null };
    for (let retry = due[next]; retry && inOrder(retry, ready) < 0; retry = due[++next]) yield retry;
    yield ready;
  }
  yield* due.slice(next);
}

function dueList(state: State, now: Instant): Ready[] {
  const due: Ready[] = [];
  for (const claim of Object.values(state.claims)) {
    if (isDue(claim, now) && !(claim.issue.id in state.removals)) due.push({ issue: claim.issue, claim });
  }
  return due;
}

/** Puts the candidates into line. To be called when there are new ones, and when the settings have changed. */
export function lineUp(draft: Draft): void {
  const { state } = draft;
  const able = Object.values(state.candidates).filter((issue) => canEverStart(issue, state));
  draft.set({ line: able.sort(inLine).map(({ id }) => id) });
}

/** True when a candidate can be replaced by a newer version of it without a new line. */
export function hasSamePlace(before: Issue, after: Issue, state: State): boolean {
  return inLine(before, after) === 0 && canEverStart(before, state) === canEverStart(after, state);
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
  for (const entry of readyOneByOne(state, now)) {
    if (isWanted(state, entry.issue.id) && slots.take(entry.issue.state)) picked.push(entry);
    if (slots.full) break;
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

/** Priority 1 to 4, then all others. Within a priority: retries first, then as in line. */
function inOrder(a: Ready, b: Ready): number {
  return (
    rank(a.issue.priority) - rank(b.issue.priority) ||
    Number(a.claim === null) - Number(b.claim === null) ||
    inLine(a.issue, b.issue)
  );
}

/** By priority, then the oldest first, then by identifier in natural order. */
function inLine(a: Issue, b: Issue): number {
  return (
    rank(a.priority) - rank(b.priority) ||
    compare(a.created_at ?? LAST, b.created_at ?? LAST) ||
    naturalOrder(a.identifier, b.identifier)
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
