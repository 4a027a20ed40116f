import type { TrackerConfig, Trust } from '../../domain/config.js';
import { BatonError } from '../../domain/errors.js';
import { type Comment, type Issue, stateKey } from '../../domain/issue.js';
import { fieldsOf, textOf } from '../../domain/json.js';
import { nearestWord } from '../../domain/nearest-word.js';
import type { HostTool, IssueBatch, IssueChange, IssueUpdate, Tracker, TrackerFacts } from '../../domain/ports.js';
import { collectIssues, normaliseIssue, tryNormalise } from '../normalise-issue.js';
import type { TrackerAdapter, TrackerOptions } from '../registry.js';
import { ISSUE_REF, invalidAnswer, JiraApi, type JiraCalls } from './api.js';
import { namesOf, ProjectCache, type ProjectFacts, statusesNamed } from './project.js';
import {
  assigneeNamed,
  fetchIssues,
  ISSUE_FIELDS,
  type IssueContext,
  matchingIds,
  projectIdOf,
  readComments,
  scopeClauses,
  searchIssues,
  toIssue,
  type WantedAssignee,
} from './read.js';
import {
  DEFAULT_TRUST,
  DEFAULTS,
  type JiraSettings,
  joinClauses,
  jqlText,
  KIND,
  readJiraSettings,
} from './settings.js';
import { jiraTool } from './tool.js';
import { changeIssue } from './write.js';

export const jiraTracker: TrackerAdapter = {
  kind: KIND,
  defaults: DEFAULTS,
  create: (options) => new JiraTracker(readJiraSettings(options), options),
};

type JiraTrackerOptions = Pick<TrackerOptions, 'mask' | 'nowMs'> & { settings(): Pick<TrackerConfig, 'trust'> };

/** Issues of a Jira Cloud project, or of a JQL, by version 3 of the REST API. Caches only project, states and the wanted assignee. */
class JiraTracker implements Tracker {
  readonly kind = KIND;
  readonly defaults = DEFAULTS;
  readonly scope: string;
  readonly #jira: JiraSettings;
  readonly #options: JiraTrackerOptions;
  readonly #api: JiraApi;
  readonly #projects: ProjectCache;
  #assignee: WantedAssignee | null = null;

  constructor(jira: JiraSettings, options: JiraTrackerOptions) {
    this.#jira = jira;
    this.#options = options;
    this.#api = new JiraApi(jira, (text) => options.mask(text));
    this.#projects = new ProjectCache(jira, options.nowMs);
    // The JQL is not part of the scope: keys are unique in a site, so a change of the JQL keeps the workspaces.
    const { host, pathname } = jira.base;
    this.scope = [`${KIND}:${host}${pathname.replace(/\/$/, '')}`, ...(jira.project ? [jira.project] : [])].join('/');
  }

  get states(): readonly string[] {
    return this.#projects.states;
  }

  async issuesByStates(states: readonly string[], signal: AbortSignal): Promise<IssueBatch> {
    if (states.length === 0) return { issues: [], unknown: [] };
    const calls = this.#api.calls(signal);
    const facts = await this.#projects.read(calls, states);
    const problems = unknownStates(states, namesOf(facts.statuses));
    const terms = statusTerms(facts, states);
    if (terms.length === 0) return { issues: [], unknown: [], problems, ...calls.rateLimit };
    const clauses = [...scopeClauses(facts, this.#jira.ownClause), `status in (${terms.join(', ')})`];
    const context = await this.#context(calls);
    const search = { clauses, fields: ISSUE_FIELDS };
    const tried = await searchIssues(calls, search, {
      convert: (record) => tryNormalise(toIssue(record, context)),
      by: JSON.stringify([context.trust, context.site, context.assignee?.name]),
    }).catch((error: unknown) => {
      // A cached state or the project may have been deleted.
      if (hasStatus(error, 400)) this.#projects.clear();
      throw error;
    });
    if (tried.length === 0) await calls.account();
    const list = collectIssues(tried);
    // The search index may lag behind: drop issues that were moved meanwhile.
    const wanted = new Set(states.map(stateKey));
    const issues = list.issues.filter(({ state }) => wanted.has(stateKey(state)));
    return { issues, unknown: [], problems: [...problems, ...list.problems], ...calls.rateLimit };
  }

  async issuesByIds(ids: readonly string[], signal: AbortSignal): Promise<IssueBatch> {
    // A text that is neither an id nor a key cannot be an issue of Jira.
    const refs = [...new Set(ids)].filter((id) => ISSUE_REF.test(id));
    if (refs.length === 0) return { issues: [], unknown: [] };
    const calls = this.#api.calls(signal);
    const facts = await this.#projects.read(calls);
    const { records, unknown, problems } = await fetchIssues(calls, refs, ISSUE_FIELDS);
    if (records.length === 0) await calls.account();
    const context = await this.#context(calls);
    const byId = new Map<string, Issue>();
    for (const record of records) {
      const issue = normaliseIssue(toIssue(record, context));
      if (isInProject(record, issue, facts)) byId.set(issue.id, issue);
    }
    const issues = await this.#holdBackStrays(calls, facts, [...byId.values()]);
    return { issues, unknown, problems, ...calls.rateLimit };
  }

  readComments(issue: Issue, signal: AbortSignal): Promise<readonly Comment[]> {
    return readComments(this.#api.calls(signal), issue.id, this.#trust);
  }

  async update(issueId: string, change: IssueChange, signal: AbortSignal): Promise<IssueUpdate> {
    const calls = this.#api.calls(signal);
    const facts = await this.#projects.read(calls, change.state === undefined ? [] : [change.state]);
    return changeIssue(calls, facts, issueId, change);
  }

  tools(): readonly HostTool[] {
    const { rawTool, project } = this.#jira;
    if (rawTool === 'off' || project === null) return [];
    return [jiraTool({ api: this.#api, projects: this.#projects, project, isReadOnly: rawTool === 'read_only' })];
  }

  inspect(signal: AbortSignal): Promise<TrackerFacts> {
    return inspectJira(this.#api.calls(signal), this.#projects, this.#jira, this.#options.settings().trust);
  }

  async close(): Promise<void> {
    this.#api.close();
  }

  /** A read by id also finds issues that no longer match the JQL. They are held back. */
  async #holdBackStrays(calls: JiraCalls, facts: ProjectFacts, issues: readonly Issue[]): Promise<readonly Issue[]> {
    const { ownClause } = this.#jira;
    if (ownClause === null || issues.length === 0) return issues;
    const ids = issues.map(({ id }) => id);
    const matching = await matchingIds(calls, scopeClauses(facts, ownClause), ids);
    const heldBack = 'no longer matches tracker.provider.jql';
    return issues.map((issue) =>
      matching.has(issue.id) ? issue : { ...issue, dispatchable: false, held_back: issue.held_back ?? heldBack },
    );
  }

  async #context(calls: JiraCalls): Promise<IssueContext> {
    return { trust: this.#trust, assignee: await this.#wantedAssignee(calls), site: this.#jira.site };
  }

  async #wantedAssignee(calls: JiraCalls): Promise<WantedAssignee | null> {
    const { assignee, email } = this.#jira;
    if (assignee === null || this.#assignee !== null) return this.#assignee;
    const isOwnAccount = assignee === 'me' || assignee.toLowerCase() === email?.toLowerCase();
    if (!isOwnAccount) this.#assignee = assigneeNamed(assignee);
    else {
      // Profiles may hide the e-mail address, but not the account id.
      const { accountId, displayName } = fieldsOf(await calls.account());
      this.#assignee = { name: textOf(displayName) ?? assignee, is: (person) => person.accountId === accountId };
    }
    return this.#assignee;
  }

  /** Read each time: the setting may change while the tracker lives. */
  get #trust(): Trust {
    return this.#options.settings().trust ?? DEFAULT_TRUST;
  }
}

/** Within a project by id, because names may be translated for the account. Across projects by name, because a name has many ids. */
function statusTerms(facts: ProjectFacts, states: readonly string[]): readonly string[] {
  const statuses = states.flatMap((state) => statusesNamed(facts, state));
  const terms = statuses.map(({ id, name }) => (facts.project === null ? jqlText(name) : id));
  return [...new Set(terms)];
}

function hasStatus(error: unknown, status: number): error is BatonError {
  return error instanceof BatonError && error.details.status === status;
}

/** Jira also finds an issue under its old id and key after it was moved to another project. */
function isInProject(record: unknown, { identifier }: Issue, { project }: ProjectFacts): boolean {
  const projectId = projectIdOf(record);
  if (projectId === null) throw invalidAnswer(`issue ${identifier}`, 'has no project');
  return project === null || projectId === project.id;
}

/** Checks token, project, states and JQL by asking Jira. */
async function inspectJira(
  calls: JiraCalls,
  projects: ProjectCache,
  jira: JiraSettings,
  trust: Trust | null,
): Promise<TrackerFacts> {
  const { displayName, emailAddress } = await calls.account();
  const facts = await projects.reload(calls).catch((error: unknown) => {
    const isMissing = hasStatus(error, 404) && error.code === 'tracker_status';
    throw isMissing ? new BatonError('invalid_tracker_config', error.message) : error;
  });
  const { project } = facts;
  if (jira.ownClause !== null) await checkJql(calls, facts, jira.ownClause);
  return {
    user: textOf(displayName) ?? textOf(emailAddress),
    target: project === null ? `issues that match ${jira.ownClause}` : `project ${project.key} (${project.name})`,
    states: namesOf(facts.statuses),
    warnings: warningsFor(facts, jira, trust),
  };
}

function warningsFor({ project }: ProjectFacts, jira: JiraSettings, trust: Trust | null): readonly string[] {
  const warnings: string[] = [];
  if (project !== null && jira.project !== project.key)
    warnings.push(
      `tracker.provider.project is ${jira.project}, but the key of the project is now ${project.key}. Write the new key.`,
    );
  if (project?.isServiceDesk && (trust === null || typeof trust === 'string')) {
    const writers = trust === 'members' ? 'Customers with an Atlassian account count as members: they' : 'Customers';
    const advice = 'List the account ids or addresses of your team under tracker.trust to work on their issues only';
    warnings.push(`${writers} can write issues of project ${project.key}, and agents would follow them. ${advice}.`);
  }
  if (jira.site === null)
    warnings.push(
      'Issues have no links: write the address of your Jira, such as https://yourteam.atlassian.net, into tracker.provider.site.',
    );
  return warnings;
}

async function checkJql(calls: JiraCalls, facts: ProjectFacts, ownClause: string): Promise<void> {
  const jql = joinClauses(scopeClauses(facts, ownClause));
  const answer = await calls.post('/search/jql', { jql, fields: ['id'], maxResults: 1 }, { accept: [400] });
  if (answer.status === 400) {
    const message = `Jira rejects tracker.provider.jql. It says: ${calls.reasonIn(answer) || 'nothing'}`;
    throw new BatonError('invalid_tracker_config', message);
  }
  if (!Array.isArray(fieldsOf(answer.body).issues))
    throw invalidAnswer('the result of a search', 'has no list of issues');
}

/** One problem for each state that Jira does not have. Jira would reject a search that names one. */
function unknownStates(states: readonly string[], known: readonly string[]): readonly string[] {
  const keys = new Set(known.map(stateKey));
  const unknown = [...new Set(states)].filter((state) => !keys.has(stateKey(state)));
  return unknown.map((state) => {
    const near = nearestWord(state, known);
    const hint = near === null ? `It has: ${known.slice(0, 20).join(', ')}.` : `Did you mean "${near}"?`;
    return `Jira has no state "${state}" here, so no issue is in it. ${hint}`;
  });
}
