import type { TrackerConfig, Trust } from '../../domain/config.js';
import { BatonError } from '../../domain/errors.js';
import { type Comment, type Issue, stateKey } from '../../domain/issue.js';
import { fieldsOf, textOf } from '../../domain/json.js';
import { nearestWord } from '../../domain/nearest-word.js';
import type { HostTool, IssueBatch, IssueChange, IssueUpdate, Tracker, TrackerFacts } from '../../domain/ports.js';
import { normaliseIssue, normaliseList } from '../normalise-issue.js';
import type { TrackerEntry } from '../registry.js';
import { ISSUE, JiraApi, type JiraCalls, misshapen, namesOf, type Place, PlaceReader, statusesNamed } from './api.js';
import {
  assigneeNamed,
  FIELDS,
  fetchIssues,
  type IssueContext,
  matchingIds,
  projectIdOf,
  readTrustedComments,
  scopeClauses,
  searchIssues,
  toIssue,
  type WantedAssignee,
} from './read.js';
import { allOf, type JiraSettings, quoted, readJiraSettings } from './settings.js';
import { jiraRestTool } from './tool.js';
import { changeIssue } from './write.js';

const KIND = 'jira';
export const DEFAULTS = { activeStates: ['To Do', 'In Progress'], terminalStates: ['Done'] };
const DEFAULT_TRUST: Trust = 'anyone';

interface JiraTrackerOptions {
  readonly jira: JiraSettings;
  /** Asked anew each time: the settings may change. */
  settings(): Pick<TrackerConfig, 'trust'>;
  mask(text: string): string;
  /** How old is what is known of the project is measured on this. */
  nowMs(): number;
}

/** Jira Cloud by its REST API, version 3. It holds nothing but what it knows of project, states and its own account. */
class JiraTracker implements Tracker {
  readonly kind = KIND;
  readonly defaults = DEFAULTS;
  readonly scope: string;
  readonly #options: JiraTrackerOptions;
  readonly #api: JiraApi;
  readonly #places: PlaceReader;
  #assignee: WantedAssignee | null = null;

  constructor(options: JiraTrackerOptions) {
    const { jira, mask, nowMs } = options;
    this.#options = options;
    this.#api = new JiraApi(jira, mask);
    this.#places = new PlaceReader(jira, nowMs);
    // A JQL is not part of it: whoever changes it keeps the workspaces, and keys are unique in all of Jira.
    const { host, pathname } = jira.base;
    this.scope = [`${KIND}:${host}${pathname.replace(/\/$/, '')}`, ...(jira.project ? [jira.project] : [])].join('/');
  }

  get states(): readonly string[] {
    return this.#places.states;
  }

  async issuesByStates(states: readonly string[], signal: AbortSignal): Promise<IssueBatch> {
    if (states.length === 0) return { issues: [], unknown: [] };
    const calls = this.#api.calls(signal);
    const place = await this.#places.read(calls, states);
    const problems = unknownStates(states, namesOf(place.statuses));
    const terms = statusTerms(place, states);
    if (terms.length === 0) return { issues: [], unknown: [], problems, ...calls.rateLimit };
    const clauses = [...scopeClauses(place, this.#options.jira.ownClause), `status in (${terms.join(', ')})`];
    const context = await this.#context(calls);
    const found = await searchIssues(calls, { clauses, fields: FIELDS }, (record) => toIssue(record, context)).catch(
      (error: unknown) => {
        // A state or the project may be gone that was there some minutes ago.
        if (isRefused(error)) this.#places.forget();
        throw error;
      },
    );
    if (found.length === 0) await calls.whoAmI();
    const list = await normaliseList(found);
    // A search may lag behind; who was moved meanwhile is not in a state that was asked for.
    const wanted = new Set(states.map(stateKey));
    const issues = list.issues.filter(({ state }) => wanted.has(stateKey(state)));
    return { issues, unknown: [], problems: [...problems, ...list.problems], ...calls.rateLimit };
  }

  async issuesByIds(ids: readonly string[], signal: AbortSignal): Promise<IssueBatch> {
    // What looks like neither an id nor a key is no issue of Jira.
    const asked = [...new Set(ids)].filter((id) => ISSUE.test(id));
    if (asked.length === 0) return { issues: [], unknown: [] };
    const calls = this.#api.calls(signal);
    const place = await this.#places.read(calls);
    const { records, unknown, problems } = await fetchIssues(calls, asked, FIELDS);
    if (records.length === 0) await calls.whoAmI();
    const context = await this.#context(calls);
    const byId = new Map<string, Issue>();
    for (const record of records) {
      const issue = normaliseIssue(toIssue(record, context));
      if (isInside(record, issue, place)) byId.set(issue.id, issue);
    }
    const issues = await this.#markStrays(calls, place, [...byId.values()]);
    return { issues, unknown, problems, ...calls.rateLimit };
  }

  async readComments(issue: Issue, signal: AbortSignal): Promise<readonly Comment[]> {
    return readTrustedComments(this.#api.calls(signal), issue.id, this.#trust());
  }

  async update(issueId: string, change: IssueChange, signal: AbortSignal): Promise<IssueUpdate> {
    const calls = this.#api.calls(signal);
    const place = await this.#places.read(calls, change.state === undefined ? [] : [change.state]);
    return changeIssue(calls, place, issueId, change);
  }

  tools(): readonly HostTool[] {
    const { rawTool, project } = this.#options.jira;
    if (rawTool === 'off' || project === null) return [];
    return [jiraRestTool({ api: this.#api, places: this.#places, project, isReadOnly: rawTool === 'read_only' })];
  }

  inspect(signal: AbortSignal): Promise<TrackerFacts> {
    const { jira, settings } = this.#options;
    return inspectJira(this.#api.calls(signal), this.#places, { jira, trust: settings().trust });
  }

  async close(): Promise<void> {
    this.#api.close();
  }

  /** By id an issue is found whether or not it still matches the JQL that it was found with. */
  async #markStrays(calls: JiraCalls, place: Place, issues: readonly Issue[]): Promise<readonly Issue[]> {
    const { ownClause } = this.#options.jira;
    if (ownClause === null || issues.length === 0) return issues;
    const ids = issues.map(({ id }) => id);
    const matching = await matchingIds(calls, scopeClauses(place, ownClause), ids);
    const heldBack = 'no longer matches tracker.provider.jql';
    return issues.map((issue) =>
      matching.has(issue.id) ? issue : { ...issue, dispatchable: false, held_back: issue.held_back ?? heldBack },
    );
  }

  async #context(calls: JiraCalls): Promise<IssueContext> {
    return { trust: this.#trust(), assignee: await this.#wantedAssignee(calls), site: this.#options.jira.site };
  }

  async #wantedAssignee(calls: JiraCalls): Promise<WantedAssignee | null> {
    const { assignee, email } = this.#options.jira;
    if (assignee === null || this.#assignee !== null) return this.#assignee;
    const isMe = assignee === 'me' || assignee.toLowerCase() === email?.toLowerCase();
    if (!isMe) this.#assignee = assigneeNamed(assignee);
    else {
      // People may hide their address from Jira's answers, their account's id they cannot.
      const { accountId, displayName } = fieldsOf(await calls.whoAmI());
      this.#assignee = { name: textOf(displayName) ?? assignee, is: (person) => person.accountId === accountId };
    }
    return this.#assignee;
  }

  #trust(): Trust {
    return this.#options.settings().trust ?? DEFAULT_TRUST;
  }
}

/** By their ids within a project: names may be translated for the account. In all of Jira one name has many ids. */
function statusTerms(place: Place, states: readonly string[]): readonly string[] {
  const statuses = states.flatMap((state) => statusesNamed(place, state));
  const terms = statuses.map(({ id, name }) => (place.project === null ? quoted(name) : id));
  return [...new Set(terms)];
}

function isRefused(error: unknown): boolean {
  return error instanceof BatonError && error.details.status === 400;
}

/** One that was moved to another project is found under its old id and key all the same. */
function isInside(record: unknown, { identifier }: Issue, { project }: Place): boolean {
  const found = projectIdOf(record);
  if (found === null) throw misshapen(`issue ${identifier}`, 'has no project');
  return project === null || found === project.id;
}

/** Token, project, states and JQL, each asked of Jira. */
async function inspectJira(
  calls: JiraCalls,
  places: PlaceReader,
  { jira, trust }: { readonly jira: JiraSettings; readonly trust: Trust | null },
): Promise<TrackerFacts> {
  const { displayName, emailAddress } = await calls.whoAmI();
  const place = await places.readAnew(calls).catch((error: unknown) => {
    throw isMissing(error) ? new BatonError('invalid_tracker_config', (error as BatonError).message) : error;
  });
  const { project } = place;
  if (jira.ownClause !== null) await tryJql(calls, place, jira.ownClause);
  return {
    user: textOf(displayName) ?? textOf(emailAddress),
    target: project === null ? `issues that match ${jira.ownClause}` : `project ${project.key} (${project.name})`,
    states: namesOf(place.statuses),
    warnings: warningsFor(place, jira, trust),
  };
}

function warningsFor({ project }: Place, jira: JiraSettings, trust: Trust | null): readonly string[] {
  const warnings: string[] = [];
  if (project !== null && jira.project !== project.key)
    warnings.push(
      `tracker.provider.project is ${jira.project}, which Jira calls ${project.key} by now. Write the new key.`,
    );
  if (project?.isServiceDesk && (trust === null || typeof trust === 'string')) {
    const who = trust === 'members' ? 'Customers who have an Atlassian account count as members: they' : 'Customers';
    const way = 'List the account ids or addresses of your team under tracker.trust to work on their issues only';
    warnings.push(`${who} can write issues of project ${project.key}, and agents would follow them. ${way}.`);
  }
  if (jira.site === null)
    warnings.push(
      'Issues have no links: write the address of your Jira, such as https://yourteam.atlassian.net, into tracker.provider.site.',
    );
  return warnings;
}

async function tryJql(calls: JiraCalls, place: Place, ownClause: string): Promise<void> {
  const jql = allOf(scopeClauses(place, ownClause));
  const answer = await calls.post('/search/jql', { jql, fields: ['id'], maxResults: 1 }, [400]);
  if (answer.status === 400) {
    const message = `Jira does not take tracker.provider.jql. It says: ${calls.said(answer) || 'nothing'}`;
    throw new BatonError('invalid_tracker_config', message);
  }
  if (!Array.isArray((answer.body as { readonly issues?: unknown } | null)?.issues))
    throw misshapen('the result of a search', 'has no list of issues');
}

function isMissing(error: unknown): boolean {
  return error instanceof BatonError && error.details.status === 404 && error.code === 'tracker_status';
}

/** A sentence for each state that Jira does not have: a search for it would be refused as a whole. */
function unknownStates(asked: readonly string[], known: readonly string[]): readonly string[] {
  const keys = new Set(known.map(stateKey));
  const strangers = [...new Set(asked)].filter((state) => !keys.has(stateKey(state)));
  return strangers.map((state) => {
    const near = nearestWord(state, known);
    const hint = near === null ? `It has: ${known.slice(0, 20).join(', ')}` : `Did you mean "${near}"`;
    return `Jira has no state "${state}" here, so no issue is in it. ${hint}${near === null ? '.' : '?'}`;
  });
}

export const jiraTracker: TrackerEntry = {
  kind: KIND,
  defaults: DEFAULTS,
  create: (options) => {
    const { settings, mask, nowMs } = options;
    return new JiraTracker({ jira: readJiraSettings(options), settings, mask, nowMs });
  },
};
