import { fieldsOf } from '../../domain/json.js';
import type { HostTool } from '../../domain/ports.js';
import { type StateOf, sendRest } from '../forge.js';
import { type RestCall, type RestRule, type RestTable, restTool, ToolRefusal } from '../raw-tool.js';
import type { GithubApi } from './api.js';

interface GithubToolOptions {
  readonly api: GithubApi;
  readonly isReadOnly: boolean;
  readonly stateOf: StateOf;
}

/** GitHub's REST API, limited to the issues and pull requests of one repository. */
export function githubTool({ api, isReadOnly, stateOf }: GithubToolOptions): HostTool {
  return restTool({
    table: tableOf(api),
    description:
      `Call GitHub's REST API for ${api.fullName}. The path is below the repository and begins with one of: ${REACHABLE.map((each) => `/${each}`).join(', ')}. ` +
      `Example: {"method": "GET", "path": "/issues/12/comments?per_page=10"}. ` +
      (isReadOnly ? 'Only GET is allowed. ' : 'Pull requests can be opened and edited, not merged. ') +
      'To move or comment on your own issue, update_issue is enough.',
    pathHelp: 'Below the repository, with its query: /issues/12/labels',
    isReadOnly,
    mask: (text) => api.mask(text),
    stateOf,
    prepare(call, signal) {
      checkContent(call);
      const path = `${api.repoPath(...call.segments)}${call.query}`;
      return () => sendRest(api.reading(signal), { method: call.method, path, body: call.body });
    },
  });
}

const REACHABLE = ['issues', 'labels', 'milestones', 'assignees', 'pulls'];

const PEOPLE = ['assignee', 'assignees'];
const ISSUE = ['title', 'body', 'labels', 'milestone', 'type', ...PEOPLE];
const PULL = ['title', 'body', 'base'];
const POSITION = ['commit_id', 'path', 'position', 'side', 'line', 'start_line', 'start_side', 'subject_type'];

/**
 * An agent that follows instructions in an issue must not change code, settings or secrets with the host's token, reach another repository, start another agent, or
 * review in a person's name. Rows name calls and fields one by one, since GitHub adds new ones: a field of an assignment starts an agent in another repository, and
 * whatever leads from an issue to other issues shows their whole text.
 */
const RULES: readonly RestRule[] = [
  { call: 'GET issues' },
  { call: 'GET issues/{number}' },
  { call: 'GET issues/{number}/{part}' },
  { call: 'GET issues/comments' },
  { call: 'GET issues/comments/{any}' },
  { call: 'GET issues/comments/{any}/reactions' },
  { call: 'GET {list}/**' },
  { call: 'POST issues', fields: ISSUE },
  { call: 'PATCH issues/{number}', fields: [...ISSUE, 'state', 'state_reason'] },
  { call: 'POST issues/{number}/comments', fields: ['body'] },
  { call: 'PATCH issues/comments/{number}', fields: ['body'] },
  { call: 'POST issues/{number}/reactions', fields: ['content'] },
  { call: 'POST issues/comments/{number}/reactions', fields: ['content'] },
  { call: 'DELETE issues/{number}/reactions/{number}', fields: [] },
  { call: 'DELETE issues/comments/{number}/reactions/{number}', fields: [] },
  { call: 'POST PUT issues/{number}/labels', fields: ['labels'] },
  { call: 'DELETE issues/{number}/labels', fields: [] },
  { call: 'DELETE issues/{number}/labels/{any}', fields: [] },
  { call: 'POST DELETE issues/{number}/assignees', fields: ['assignees'] },
  { call: 'PUT issues/{number}/lock', fields: ['lock_reason'] },
  { call: 'DELETE issues/{number}/lock', fields: [] },
  { call: 'POST labels', fields: ['name', 'color', 'description'] },
  { call: 'POST milestones', fields: ['title', 'state', 'description', 'due_on'] },
  { call: 'POST pulls', fields: [...PULL, 'head', 'draft', 'issue'] },
  { call: 'PATCH pulls/{number}', fields: [...PULL, 'state'] },
  { call: 'POST pulls/{number}/comments', fields: ['body', 'in_reply_to', ...POSITION] },
  { call: 'POST pulls/{number}/comments/{number}/replies', fields: ['body'] },
  { call: 'PATCH pulls/comments/{number}', fields: ['body'] },
  { call: 'POST pulls/comments/{number}/reactions', fields: ['content'] },
  { call: 'DELETE pulls/comments/{number}/reactions/{number}', fields: [] },
  { call: 'POST DELETE pulls/{number}/requested_reviewers', fields: ['reviewers', 'team_reviewers'] },
];

function tableOf({ fullName }: GithubApi): RestTable {
  return {
    tool: 'github_api',
    example: '/issues/12/labels',
    rules: RULES,
    segments: { part: /^(?:comments|labels|reactions)$/, list: /^(?:labels|milestones|assignees|pulls)$/ },
    // Both `/issues/12` and `/repos/owner/name/issues/12` are understood.
    below([repos, owner, name, ...others]) {
      const segments = [repos, owner, name].flatMap((segment) => segment ?? []);
      if (repos !== 'repos') return [...segments, ...others];
      return `${owner}/${name}`.toLowerCase() === fullName.toLowerCase() ? others : [];
    },
    refusal(method, segments) {
      if (!REACHABLE.includes(segments[0] ?? ''))
        return `github_api reaches ${REACHABLE.map((each) => `/${each}`).join(', ')} of ${fullName} and nothing else: no code, no settings, no secrets, no other repository.`;
      if (method === 'GET')
        return 'github_api reads issues with their comments, labels and reactions. Timelines, parents, sub-issues and dependencies may show issues of other repositories.';
      return `github_api opens, edits, labels, assigns and comments issues and pull requests, requests reviewers, and creates labels and milestones. ${method} /${segments.join('/')} is left to people.`;
    },
  };
}

/** An app is no person, and GitHub's own agent goes by its bare name, too. */
const AGENT = /\[bot\]$|^copilot\b|(?:swe|code|coding)-agent$/i;
/** A comment on a pull request that mentions the agent starts it. */
const AGENT_MENTION = /(?<![\w/])@copilot\b/i;

/** Throws `ToolRefusal` for what would start another agent. */
function checkContent({ method, body }: RestCall): void {
  const fields = fieldsOf(body);
  if (method !== 'DELETE' && [...PEOPLE, 'reviewers'].some((name) => !isOfPeople(fields[name])))
    throw new ToolRefusal('Assign people, by their logins: to start another agent is left to people.');
  if (typeof fields.body === 'string' && AGENT_MENTION.test(fields.body))
    throw new ToolRefusal('To start another agent by mentioning it is left to people: write its name without the @.');
}

function isOfPeople(given: unknown): boolean {
  if (given === undefined || given === null) return true;
  return [given].flat().every((login) => typeof login === 'string' && !AGENT.test(login.trim().replace(/^@/, '')));
}
