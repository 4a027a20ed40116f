import { nearestWord } from '../../text/nearest-word.js';
import { type IssueView, issueShape } from '../../status/shapes/issue-shape.js';
import { LISTS, stateShape } from '../../api/schemas.js';
import { ApiError, type DaemonClient } from '../client.js';
import { pathOf } from '../with-daemon.js';

/** What the daemon knows of an issue, by its name as people type it: `task-1` is TASK-1. Throws `ApiError`, with the one that was meant. */
export async function getIssue(client: DaemonClient, name: string): Promise<IssueView> {
  try {
    return await client.get(pathOf(name), issueShape);
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== 'issue_not_found') throw error;
    const state = await client.get('/api/v1/state', stateShape);
    const names = [...new Set(LISTS.flatMap((list) => state[list].map((entry) => entry.issue_identifier)))];
    const same = names.filter((one) => one.toLowerCase() === name.toLowerCase());
    const [only] = same;
    if (only !== undefined && same.length === 1) return client.get(pathOf(only), issueShape);
    const near = nearestWord(name, names);
    throw near === null ? error : new ApiError(error.status, error.code, `${error.message} Did you mean ${near}?`);
  }
}
