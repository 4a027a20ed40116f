import { fieldsOf } from '../../domain/fields.js';
import { ToolRefusal } from '../raw-tool.js';

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

interface Change {
  /** Its methods, and its path with `N` for a number and `*` for any part. */
  readonly at: string;
  /** What its body may hold. */
  readonly fields: readonly string[];
}

const PEOPLE = ['assignee', 'assignees'];
const ISSUE = ['title', 'body', 'labels', 'milestone', 'type', ...PEOPLE];
const PULL = ['title', 'body', 'base'];
const PLACE = ['commit_id', 'path', 'position', 'side', 'line', 'start_line', 'start_side', 'subject_type'];

/**
 * What an agent may change, path by path and field by field, since what GitHub adds later may do anything: a field of an assignment sets another agent to work in
 * another repository, a sub-issue may be somebody else's.
 */
const CHANGES: readonly Change[] = [
  { at: 'POST issues', fields: ISSUE },
  { at: 'PATCH issues/N', fields: [...ISSUE, 'state', 'state_reason'] },
  { at: 'POST issues/N/comments', fields: ['body'] },
  { at: 'PATCH issues/comments/N', fields: ['body'] },
  { at: 'POST issues/N/reactions', fields: ['content'] },
  { at: 'POST issues/comments/N/reactions', fields: ['content'] },
  { at: 'DELETE issues/N/reactions/N', fields: [] },
  { at: 'DELETE issues/comments/N/reactions/N', fields: [] },
  { at: 'POST PUT issues/N/labels', fields: ['labels'] },
  { at: 'DELETE issues/N/labels', fields: [] },
  { at: 'DELETE issues/N/labels/*', fields: [] },
  { at: 'POST DELETE issues/N/assignees', fields: ['assignees'] },
  { at: 'PUT issues/N/lock', fields: ['lock_reason'] },
  { at: 'DELETE issues/N/lock', fields: [] },
  { at: 'POST labels', fields: ['name', 'color', 'description'] },
  { at: 'POST milestones', fields: ['title', 'state', 'description', 'due_on'] },
  { at: 'POST pulls', fields: [...PULL, 'head', 'draft', 'issue'] },
  { at: 'PATCH pulls/N', fields: [...PULL, 'state'] },
  { at: 'POST pulls/N/comments', fields: ['body', 'in_reply_to', ...PLACE] },
  { at: 'POST pulls/N/comments/N/replies', fields: ['body'] },
  { at: 'PATCH pulls/comments/N', fields: ['body'] },
  { at: 'POST pulls/comments/N/reactions', fields: ['content'] },
  { at: 'DELETE pulls/comments/N/reactions/N', fields: [] },
  { at: 'POST DELETE pulls/N/requested_reviewers', fields: ['reviewers', 'team_reviewers'] },
];

/** Throws `ToolRefusal`. */
export function checkChange(method: Method, segments: readonly string[], query: string, body: unknown): void {
  const path = segments.join('/');
  const change = CHANGES.find(({ at }) => isAt(at, method, segments));
  if (change === undefined) {
    const message = `github_api opens, edits, labels, assigns and comments issues and pull requests, asks for reviewers, and makes labels and milestones. ${method} /${path} is left to people.`;
    throw new ToolRefusal(message);
  }
  // GitHub may read fields out of the query as well.
  if (query !== '') throw new ToolRefusal('Write what is to be changed into body, not into the path.');
  if (body !== undefined && body !== null && (typeof body !== 'object' || Array.isArray(body)))
    throw new ToolRefusal('body must be an object.');
  const given = fieldsOf(body);
  const stranger = Object.keys(given).find((name) => !change.fields.includes(name));
  if (stranger !== undefined) {
    const may = change.fields.length === 0 ? 'nothing' : change.fields.join(', ');
    throw new ToolRefusal(`The body of ${method} /${path} may hold ${may}, not ${stranger.slice(0, 100)}.`);
  }
  if (method !== 'DELETE' && [...PEOPLE, 'reviewers'].some((name) => !isOfPeople(given[name])))
    throw new ToolRefusal('Give work to people, by their logins: to set another agent to work is left to people.');
  if (typeof given.body === 'string' && AGENT_CALL.test(given.body))
    throw new ToolRefusal('To call another agent by its name is left to people: write it without the @.');
}

function isAt(at: string, method: Method, segments: readonly string[]): boolean {
  const words = at.split(' ');
  const parts = words.at(-1)?.split('/') ?? [];
  if (!words.slice(0, -1).includes(method) || parts.length !== segments.length) return false;
  return parts.every((part, n) => {
    const segment = segments[n] ?? '';
    return part === '*' || (part === 'N' ? /^\d+$/.test(segment) : part === segment);
  });
}

/** Whatever works by itself: an app is no person, and GitHub's own agent goes by its bare name, too. */
const AGENT = /\[bot\]$|^copilot\b|(?:swe|code|coding)-agent$/i;
/** A comment on a pull request that names it sets it to work. */
const AGENT_CALL = /(?<![\w/])@copilot\b/i;

function isOfPeople(given: unknown): boolean {
  if (given === undefined || given === null) return true;
  return [given].flat().every((login) => typeof login === 'string' && !AGENT.test(login.trim().replace(/^@/, '')));
}
