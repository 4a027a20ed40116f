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
  const issues = tried.filter((one): one is Issue => !(one instanceof BatonError));
  const problems = tried.filter((one) => one instanceof BatonError).map(({ message }) => message);
  return { issues, problems: someOf(problems) };
}

/** Each is told to people, and nobody reads more. */
export function someOf(problems: readonly string[]): readonly string[] {
  const rest = problems.length - MAX_PROBLEMS;
  return rest <= 0 ? problems : [...problems.slice(0, MAX_PROBLEMS), `… and ${rest} more of the kind.`];
}
