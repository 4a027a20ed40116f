import { ToolRefusal } from '../raw-tool.js';
import { parseRestPath } from '../rest-path.js';
import type { RepoName } from './github-api.js';

/** What an agent may reach, below its repository. */
export const REACHABLE = ['issues', 'labels', 'milestones', 'assignees', 'pulls'];

export interface ScopedPath {
  /** Below the repository. */
  readonly segments: readonly string[];
  /** With its `?`, or empty. */
  readonly query: string;
}

/**
 * The part below the repository of a path that an agent wrote. Throws `ToolRefusal`: an agent that was talked into something by an issue must not change code, settings
 * or secrets with the host's token, nor speak for a person who reviews.
 */
export function scopedPath(written: string, isChange: boolean, { owner, name }: RepoName): ScopedPath {
  const parsed = parseRestPath(written);
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
  if (first === 'pulls' && isChange && !isHarmless(segments)) {
    const message = `github_api opens, edits and comments pull requests, and asks for reviewers; to merge, update, approve or dismiss is left to people.`;
    throw new ToolRefusal(message);
  }
  if ((first === 'labels' || first === 'milestones') && isChange && segments.length > 1) {
    const message = `github_api makes labels and milestones; to rename or delete one, which every issue of the repository would feel, is left to people.`;
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

/** Named one by one, since what GitHub adds later may do anything. */
function isHarmless([, which = '', what, ...more]: readonly string[]): boolean {
  if (which === '') return true;
  if (which === 'comments') return what !== undefined;
  if (!/^\d+$/.test(which)) return false;
  return what === undefined || what === 'comments' || (what === 'requested_reviewers' && more.length === 0);
}
