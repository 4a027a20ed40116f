import { setImmediate as othersTurn } from 'node:timers/promises';
import { BatonError } from '../domain/errors.js';
import type { Issue } from '../domain/issue.js';
import { normaliseIssue, type RawIssue } from './normalise-issue.js';

export interface NormalisedList {
  readonly issues: readonly Issue[];
  /** A sentence for each record that is no issue. */
  readonly problems: readonly string[];
}

const MAX_PROBLEMS = 100;
/** So many take some milliseconds; then agents and timers have their turn. */
const AT_ONCE = 200;

/** For lists: what cannot be read as an issue is told and skipped, so that one bad record does not stop all work. */
export async function normaliseList(raws: Iterable<RawIssue>): Promise<NormalisedList> {
  const tried: Tried[] = [];
  for (const raw of raws) {
    if (tried.push(tryNormalise(raw)) % AT_ONCE === 0) await othersTurn();
  }
  return listed(tried);
}

/** An issue, or why there is none. */
export type Tried = Issue | BatonError;

/** To be called page by page: what a tracker sent is larger than what is made of it, and need not be kept until the last page is there. */
export function tryNormalise(raw: RawIssue): Tried {
  try {
    return normaliseIssue(raw);
  } catch (error) {
    if (error instanceof BatonError) return error;
    throw error;
  }
}

export function listed(tried: readonly Tried[]): NormalisedList {
  const issues: Issue[] = [];
  const problems: string[] = [];
  let untold = 0;
  for (const one of tried) {
    if (!(one instanceof BatonError)) issues.push(one);
    else if (problems.length < MAX_PROBLEMS) problems.push(one.message);
    else untold++;
  }
  return { issues, problems: untold === 0 ? problems : [...problems, `… and ${untold} more of the kind.`] };
}
