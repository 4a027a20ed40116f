import { fieldsOf } from '../../domain/json.js';
import type { HostTool } from '../../domain/ports.js';
import { type StateOf, sendRest } from '../forge.js';
import { type RestCall, type RestRule, type RestTable, restTool, ToolRefusal } from '../raw-tool.js';
import type { GitlabApi, Project } from './api.js';
import { holdsQuickAction } from './write.js';

interface GitlabToolOptions {
  readonly api: GitlabApi;
  readonly project: Project;
  readonly isReadOnly: boolean;
  readonly stateOf: StateOf;
}

/** GitLab's REST API, limited to the issues and merge requests of one project. */
export function gitlabTool({ api, project, isReadOnly, stateOf }: GitlabToolOptions): HostTool {
  return restTool({
    table: tableOf(api),
    description:
      `Call GitLab's REST API for ${api.project}. The path is below the project and begins with one of: ${REACHABLE.map((each) => `/${each}`).join(', ')}. ` +
      `Example: {"method": "GET", "path": "/issues/12/notes?per_page=10"}. ` +
      (isReadOnly ? 'Only GET is allowed. ' : 'Merge requests can be opened and edited, not merged. ') +
      'To move or comment on your own issue, update_issue is enough.',
    pathHelp: 'Below the project, a query only with GET: /issues/12/notes',
    isReadOnly,
    mask: (text) => api.mask(text),
    stateOf,
    async prepare(call, signal) {
      checkContent(call, api.project);
      const { method, segments, query } = call;
      const reading = api.reading(signal);
      const isMergeRequest = method === 'POST' && segments.join('/') === 'merge_requests';
      // Without a target, the merge request of a fork goes to the project that it was forked from.
      const body = isMergeRequest
        ? { ...fieldsOf(call.body), target_project_id: (await project.facts(reading)).id ?? api.project }
        : call.body;
      return () => sendRest(reading, { method, path: `${api.projectPath(...segments)}${query}`, body });
    },
  });
}

const REACHABLE = ['issues', 'labels', 'milestones', 'boards', 'members', 'merge_requests'];

/**
 * An agent that follows instructions in an issue must not change code, settings, variables or members with the host's token, nor reach another project. What may be
 * changed below an issue is named part by part, since GitLab adds new ones.
 */
const RULES: readonly RestRule[] = [
  { call: 'GET {any}/{any}/{foreign}/**', refuse: 'This list is not shown: it may hold issues of other projects.' },
  { call: 'GET {list}/**' },
  { call: 'POST PUT PATCH {work}' },
  { call: 'POST PUT PATCH {work}/{any}' },
  { call: 'POST PUT PATCH {work}/{any}/{words}/**' },
  { call: 'DELETE {work}/{any}/{words}/{any}/award_emoji/**' },
  { call: 'POST PUT PATCH DELETE {work}/{any}/{part}/**' },
  { call: 'POST PUT PATCH DELETE issues/{any}/links/**' },
  { call: 'DELETE {work}/**', refuse: 'To delete this is left to people: nothing brings it back.' },
  { call: 'POST labels' },
  { call: 'POST PUT PATCH DELETE labels/{any}/{subscription}/**' },
  { call: 'POST milestones' },
  {
    call: 'POST PUT PATCH DELETE {shared}/**',
    refuse:
      'gitlab_api creates labels and milestones. Every issue of the project would show a change of one, so that is left to people.',
  },
  { call: 'POST PUT PATCH boards' },
  { call: 'POST PUT PATCH boards/{any}' },
  { call: 'POST PUT PATCH DELETE boards/{any}/lists/**' },
  { call: 'POST PUT PATCH DELETE members/**', refuse: '/members can only be read.' },
];

const SEGMENTS = {
  list: new RegExp(`^(?:${REACHABLE.join('|')})$`),
  foreign: /^(?:links|related_merge_requests|closed_by|closes_issues|related_issues)$/,
  work: /^(?:issues|merge_requests)$/,
  words: /^(?:notes|discussions)$/,
  part: /^(?:award_emoji|subscribe|unsubscribe|todo|time_estimate|reset_time_estimate|add_spent_time|reset_spent_time)$/,
  shared: /^(?:labels|milestones)$/,
  subscription: /^(?:subscribe|unsubscribe)$/,
};

function tableOf({ project }: GitlabApi): RestTable {
  return {
    tool: 'gitlab_api',
    example: '/issues/12/notes',
    rules: RULES,
    segments: SEGMENTS,
    below(segments) {
      const below = belowProject(segments, project);
      if (!below.some((segment) => segment.includes('/'))) return below;
      throw new ToolRefusal('path holds a slash that is written as %2F. Name labels with a slash by their id.');
    },
    refusal(method, segments) {
      if (!REACHABLE.includes(segments[0] ?? ''))
        return `gitlab_api reaches ${REACHABLE.map((each) => `/${each}`).join(', ')} of ${project} and nothing else: no code, no settings, no variables, no other project.`;
      return `gitlab_api opens, edits, labels, assigns and comments issues and merge requests. ${method} /${segments.join('/')} is left to people, and so is everything that merges, rebases, approves, moves or promotes.`;
    },
  };
}

/** Both `/issues/12` and `/projects/group%2Fproject/issues/12` are understood. */
function belowProject(segments: readonly string[], project: string): readonly string[] {
  const [projects, which = '', ...others] = segments;
  if (projects !== 'projects') return segments;
  return which.toLowerCase() === project.toLowerCase() ? others : [];
}

/** Parameters that make GitLab act as another user. */
const IDENTITIES = ['sudo', 'private_token', 'access_token', 'job_token'];
/** An epic belongs to a group: adding an issue to it changes the epic. */
const EPICS = ['epic_id', 'epic_iid'];

/** Throws `ToolRefusal` for parameters that act as another user, reach out of the project, or carry commands. */
function checkContent({ method, query, body }: RestCall, project: string): void {
  const fields = fieldsOf(body);
  // GitLab takes `;` for `&`.
  const names = [...new URLSearchParams(query.replaceAll(';', '&')).keys(), ...Object.keys(fields)];
  const identity = names.find((name) => IDENTITIES.includes(plainName(name)));
  if (identity !== undefined) throw new ToolRefusal(`${identity} is not allowed: gitlab_api acts as itself.`);
  if (method === 'GET') return;
  const { target_project_id: target, confidential = true } = fields;
  if (target !== undefined && String(target).toLowerCase() !== project.toLowerCase())
    throw new ToolRefusal(`target_project_id must be ${project}, the project of gitlab_api.`);
  const epic = names.find((name) => EPICS.includes(plainName(name)));
  if (epic !== undefined) throw new ToolRefusal(`${epic} is not allowed: epics are outside of ${project}.`);
  if (method === 'PUT' && confidential !== true)
    throw new ToolRefusal('To make a confidential issue visible is left to people.');
  if (holdsQuickAction(body))
    throw new ToolRefusal(
      'A line begins with a slash and a word, which GitLab would run as a command. Write it differently, for instance in backticks.',
    );
}

/** The name of a parameter as GitLab reads it: it ignores brackets before the name, and brackets behind it make a list. */
function plainName(name: string): string {
  const [, plain = ''] = /^[[\]]*([^[\]]*)/.exec(name) ?? [];
  return plain.trim().toLowerCase();
}
