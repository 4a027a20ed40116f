import type { TrackerConfig, Trust } from '../../domain/config.js';
import { BatonError } from '../../domain/errors.js';
import { fieldsOf, textOf } from '../../domain/fields.js';
import { type Comment, type Issue, stateKey } from '../../domain/issue.js';
import type { HostTool, IssueBatch, IssueChange, IssueUpdate, Tracker, TrackerFacts } from '../../domain/ports.js';
import { normaliseList } from '../normalise-batch.js';
import { normaliseIssue } from '../normalise-issue.js';
import { changeIssue } from './write.js';
import { inspectJira } from './inspect.js';
import { ISSUE } from './issue-name.js';
import { JiraApi, type JiraCalls, misshapen } from './api.js';
import { jiraRestTool } from './tool.js';
import type { JiraSettings } from './settings.js';
import { quoted } from './jql.js';
import { assigneeNamed, type WantedAssignee } from './people.js';
import { namesOf, type Place, PlaceReader, statusesNamed } from './place.js';
import { readTrustedComments } from './read-comments.js';
import { fetchIssues, matchingIds, scopeClauses, searchIssues } from './read.js';
import { FIELDS, type IssueContext, projectIdOf, toIssue } from './to-issue.js';
import { unknownStates } from './unknown-states.js';

export const KIND = 'jira';
export const DEFAULTS = { activeStates: ['To Do', 'In Progress'], terminalStates: ['Done'] };
const DEFAULT_TRUST: Trust = 'anyone';

export interface JiraTrackerOptions {
  readonly jira: JiraSettings;
  /** Asked anew each time: the settings may change. */
  settings(): Pick<TrackerConfig, 'trust'>;
  mask(text: string): string;
  /** How old is what is known of the project is measured on this. */
  nowMs(): number;
}

/** Jira Cloud by its REST API, version 3. It holds nothing but what it knows of project, states and its own account. */
export class JiraTracker implements Tracker {
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
