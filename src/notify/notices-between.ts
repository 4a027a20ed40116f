import type { Claim, Hold, HoldSource } from '../domain/claim.js';
import { HOLD_SOURCES } from '../domain/claim.js';
import { type FinishedIssue, finishedKey } from '../domain/durable.js';
import type { Issue } from '../domain/issue.js';
import { assertNever } from '../domain/json.js';
import type { HoldNotice, Notice, NoticeIssue } from './notice.js';

/** The part of the core's state that notices are about. */
export interface NoticeState {
  readonly claims: { readonly [issueId: string]: Claim };
  readonly finished: readonly FinishedIssue[];
  readonly holds: { readonly [source in HoldSource]?: Hold };
}

/**
 * The notices about the changes from one state to another. Nothing is remembered between calls: whatever is in the first state was
 * reported before, by this daemon or an earlier one.
 */
export function noticesBetween(before: NoticeState, after: NoticeState, atMs: number): Notice[] {
  const notices: Notice[] = [];
  if (before.claims !== after.claims) {
    for (const id of Object.keys(after.claims)) {
      const [old, claim] = [own(before.claims, id), own(after.claims, id)];
      if (claim && claim !== old) notices.push(...aboutClaim(old, claim, atMs));
    }
  }
  if (before.finished !== after.finished) {
    const known = new Set(before.finished.map(finishedKey));
    notices.push(...after.finished.filter((one) => !known.has(finishedKey(one))).map((one) => doneNotice(one, atMs)));
  }
  if (before.holds !== after.holds) {
    for (const source of HOLD_SOURCES) notices.push(...aboutHold(before, after, source, atMs));
  }
  return notices;
}

function own<T>(map: { readonly [id: string]: T }, id: string): T | undefined {
  return Object.hasOwn(map, id) ? map[id] : undefined;
}

function aboutClaim(before: Claim | undefined, { issue, status }: Claim, atMs: number): Notice[] {
  switch (status.kind) {
    case 'running': {
      const known = knownQuestions(before);
      const fresh = status.run.questions.filter(({ id }) => !known.has(id));
      return fresh.map((question) => ({ kind: 'asking', atMs, issue: pick(issue), question }));
    }
    case 'parked': {
      // A parked issue that is stopped by a person, or whose processes end at last, is no news.
      if (before?.status.kind === 'parked') return [];
      const { reason, message, question } = status;
      return [{ kind: 'parked', atMs, issue: pick(issue), reason, message, question }];
    }
    case 'waiting':
      return [];
    default:
      return assertNever(status);
  }
}

function knownQuestions(before: Claim | undefined): ReadonlySet<string> {
  const questions = before?.status.kind === 'running' ? before.status.run.questions : [];
  return new Set(questions.map(({ id }) => id));
}

function doneNotice(finished: FinishedIssue, atMs: number): Notice {
  const { issueId, identifier, title, url, state, isTerminal, runs, tokens } = finished;
  return { kind: 'done', atMs, issue: { id: issueId, identifier, title, url, state }, isTerminal, runs, tokens };
}

/** A hold with another code is a new hold. A probe that fails again changes only its times. */
function aboutHold(before: NoticeState, after: NoticeState, source: HoldSource, atMs: number): HoldNotice[] {
  const [old, hold] = [before.holds[source], after.holds[source]];
  const about = (event: HoldNotice['event'], { code, message, sinceMs }: Hold): HoldNotice[] => [
    { kind: 'hold', atMs, event, source, hold: { code, message, sinceMs } },
  ];
  if (hold) return hold.code === old?.code ? [] : about('begun', hold);
  return old ? about('over', old) : [];
}

function pick({ id, identifier, title, url, state }: Issue): NoticeIssue {
  return { id, identifier, title, url, state };
}
