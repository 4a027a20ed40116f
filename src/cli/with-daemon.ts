import { type IssueView, issueShape, LISTS, stateShape } from '../api/schemas.js';
import { BatonError } from '../domain/errors.js';
import { nearestWord } from '../domain/nearest-word.js';
import { localTimes } from '../text/format-duration.js';
import { neutraliseLines } from '../text/neutralise.js';
import { ApiError, connectDaemon, type DaemonClient } from './client.js';
import type { DaemonTarget } from './daemon-place.js';
import type { Io } from './io.js';

/** Asks the daemon; the exit code: 1 when it would not, 2 when there is none. */
export async function withDaemon(
  target: DaemonTarget,
  io: Io,
  act: (client: DaemonClient) => Promise<number>,
): Promise<number> {
  let client: DaemonClient | null = null;
  try {
    client = await connectDaemon(target, io);
    return await act(client);
  } catch (error) {
    return complainOf(error, io);
  } finally {
    client?.close();
  }
}

export function complainOf(error: unknown, { stderr }: Pick<Io, 'stderr'>): 1 | 2 {
  if (!(error instanceof BatonError || error instanceof ApiError)) throw error;
  stderr.write(`baton: ${neutraliseLines(localTimes(`${error.code}: ${error.message}`, Date.now()))}\n`);
  return error instanceof ApiError ? 1 : 2;
}

export function isNotRunning(error: unknown): boolean {
  return error instanceof BatonError && error.code === 'daemon_not_running';
}

/** Of a route about one issue. */
export function pathOf(issue: string, action?: string): string {
  return `/api/v1/issues/${encodeURIComponent(issue)}${action === undefined ? '' : `/${action}`}`;
}

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
