import { BatonError } from '../../domain/errors.js';
import type { Fields } from '../../domain/fields.js';
import type { HttpReading } from '../http/tracker-http.js';
import { numberIn } from './issue-number.js';
import { readList } from './api.js';

/** What is looked at. */
export interface Scope {
  readonly project: string;
  readonly withSubprojects: boolean;
}

/** So many numbers fit into one question, and their issues into one page. */
const BATCH = 100;

/** Oldest first, so that what is new does not shift the pages before it. */
const ORDER = { sort: 'created_on:asc,id', include: 'relations' };

/** The issues of the project in these statuses. */
export function issuesInStatuses(
  reading: HttpReading,
  scope: Scope,
  statusIds: readonly number[],
): Promise<readonly Fields[]> {
  const filters = { ...inScope(scope), status_id: statusIds.join('|'), ...ORDER };
  return readIssues(reading, filters, scope);
}

/** By number, whatever their status; those that are there. `scope: null`: wherever the key can see. */
export async function issuesByNumber(
  reading: HttpReading,
  scope: Scope | null,
  numbers: readonly number[],
): Promise<ReadonlyMap<number, Fields>> {
  const found = new Map<number, Fields>();
  const wanted = [...new Set(numbers)].sort((a, b) => a - b);
  for (let at = 0; at < wanted.length; at += BATCH) {
    const batch = wanted.slice(at, at + BATCH);
    const asked = { issue_id: batch.join(','), status_id: '*', ...ORDER };
    const records = await readIssues(reading, { ...(scope ? inScope(scope) : {}), ...asked }, scope);
    for (const record of records) {
      const number = numberIn(record.id);
      if (number === null)
        throw new BatonError('tracker_response', 'Redmine answered with an issue that has no number.');
      if (batch.includes(number)) found.set(number, record);
    }
  }
  return found;
}

/**
 * Redmine itself leaves out what lies outside: nobody else knows all the subprojects. Where nothing is said of them, a setting of its
 * administrator decides.
 */
export function inScope({ project, withSubprojects }: Scope): {
  readonly project_id: string;
  readonly subproject_id: string;
} {
  return { project_id: project, subproject_id: withSubprojects ? '*' : '!*' };
}

async function readIssues(
  reading: HttpReading,
  filters: { readonly [name: string]: string },
  scope: Scope | null,
): Promise<readonly Fields[]> {
  try {
    return await readList(reading, { path: '/issues.json', key: 'issues', filters });
  } catch (error) {
    if (!(error instanceof BatonError) || error.details.status !== 404 || scope === null) throw error;
    const message = `Redmine knows no project "${scope.project}", or nothing of Redmine is at that address. Check tracker.provider.project and tracker.provider.endpoint.`;
    throw new BatonError('tracker_status', message, { status: 404 }, { cause: error });
  }
}
