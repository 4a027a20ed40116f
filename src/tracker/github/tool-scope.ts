import { ToolRefusal } from '../raw-tool.js';
import { parseRestPath } from '../rest-path.js';
import type { RepoName } from './api.js';
import { checkChange, type Method } from './tool-changes.js';

/** What an agent may reach, below its repository. */
export const REACHABLE = ['issues', 'labels', 'milestones', 'assignees', 'pulls'];

export interface ScopedCall {
  readonly method: Method;
  readonly path: string;
  readonly body: unknown;
}

export interface ScopedPath {
  /** Below the repository. */
  readonly segments: readonly string[];
  /** With its `?`, or empty. */
  readonly query: string;
}

/**
 * The part below the repository of a path that an agent wrote. Throws `ToolRefusal`: an agent that was talked into something by an issue must not change code, settings
 * or secrets with the host's token, reach another repository, set another agent to work, nor speak for a person who reviews.
 */
export function scopedPath({ method, path, body }: ScopedCall, { owner, name }: RepoName): ScopedPath {
  const parsed = parseRestPath(path);
  if (typeof parsed === 'string') throw new ToolRefusal(`${parsed}: write for instance /issues/12/labels.`);
  const { query } = parsed;
  const segments = belowRepo(parsed.segments, `${owner}/${name}`);
  const [first = ''] = segments;
  if (segments.some((segment) => /(?:^|\/)\.{1,2}(?:\/|$)/.test(segment)))
    throw new ToolRefusal('path holds dots between slashes, which somebody might take for a way out.');
  if (!REACHABLE.includes(first)) {
    const message = `github_api reaches ${REACHABLE.map((each) => `/${each}`).join(', ')} of ${owner}/${name} and nothing else: no code, no settings, no secrets, no other repository.`;
    throw new ToolRefusal(message);
  }
  if (method !== 'GET') checkChange(method, segments, query, body);
  else if (first === 'issues' && !isOfThisRepo(segments)) {
    const message = `github_api reads issues with their comments, labels and reactions. Timelines, parents, sub-issues and dependencies may show issues of other repositories.`;
    throw new ToolRefusal(message);
  }
  return { segments, query };
}

/** Both `/issues/12` and `/repos/owner/name/issues/12` are understood. */
function belowRepo(segments: readonly string[], fullName: string): readonly string[] {
  const [repos, owner, name, ...rest] = segments;
  if (repos !== 'repos') return segments;
  return `${owner}/${name}`.toLowerCase() === fullName.toLowerCase() ? rest : [];
}

/** Named one by one: whatever leads from an issue to others shows their whole text, and the token may see more than this repository. */
function isOfThisRepo([, which = '', what = '', ...more]: readonly string[]): boolean {
  if (which === 'comments') return more.length === 0 || more.join('/') === 'reactions';
  if (!/^\d*$/.test(which)) return false;
  return what === '' || (['comments', 'labels', 'reactions'].includes(what) && more.length === 0);
}
