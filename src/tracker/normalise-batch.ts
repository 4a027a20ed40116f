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
  const issues: Issue[] = [];
  const problems: string[] = [];
  let untold = 0;
  let count = 0;
  for (const raw of raws) {
    if (++count % AT_ONCE === 0) await othersTurn();
    try {
      issues.push(normaliseIssue(raw));
    } catch (error) {
      if (!(error instanceof BatonError)) throw error;
      if (problems.length < MAX_PROBLEMS) problems.push(error.message);
      else untold++;
    }
  }
  return { issues, problems: untold === 0 ? problems : [...problems, `… and ${untold} more of the kind.`] };
}
