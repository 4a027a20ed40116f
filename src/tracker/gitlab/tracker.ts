import type { TrackerConfig, Trust } from '../../domain/config.js';
import { BatonError } from '../../domain/errors.js';
import type { Comment, Issue } from '../../domain/issue.js';
import type { HostTool, IssueBatch, IssueChange, IssueUpdate, Tracker, TrackerFacts } from '../../domain/ports.js';
import type { HttpReading } from '../http/tracker-http.js';
import type { LabelStates } from '../label-states.js';
import type { RawToolMode } from '../provider-settings.js';
import { Blockers } from './blockers.js';
import { ChangeHistories } from './trust.js';
import { changeIssue } from './write.js';
import type { GitlabApi } from './api.js';
import { gitlabApiTool } from './tool.js';
import { inspect, readOwnLogin } from './inspect.js';
import { iidOf } from './issue-number.js';
import { Members } from './members.js';
import { Project } from './project.js';
import { readComments } from './read-comments.js';
import { type ReadOrder, readByNumbers, readByStates, readOne } from './read.js';

interface GitlabTrackerOptions {
  readonly kind: string;
  readonly defaults: Tracker['defaults'];
  readonly scope: string;
  readonly api: GitlabApi;
  readonly states: LabelStates;
  /** A username, or `me`. */
  readonly assignee: string | null;
  readonly rawTool: RawToolMode;
  /** Asked anew each time: labels and trust may change. */
  settings(): TrackerConfig;
  nowMs(): number;
}

/** Whoever may change the issues of others is trusted, unless somebody decides otherwise. */
const DEFAULT_TRUST: Trust = 'members';
const NOTHING: IssueBatch = { issues: [], unknown: [] };

/**
 * The issues of one GitLab project. What it remembers between reads: the answers that GitLab need not send again, the members for five minutes, the project for ten,
 * who changed which version of an issue, whether the instance knows blockers, and as whom the token is known.
 */
export class GitlabTracker implements Tracker {
  readonly kind: string;
  readonly defaults: Tracker['defaults'];
  readonly scope: string;
  readonly #options: GitlabTrackerOptions;
  readonly #project: Project;
  readonly #members: Members;
  readonly #blockers: Blockers;
  readonly #histories: ChangeHistories;
  #ownLogin: string | null = null;

  constructor(options: GitlabTrackerOptions) {
    const { api, states } = options;
    const nowMs = () => options.nowMs();
    this.#options = options;
    this.kind = options.kind;
    this.defaults = options.defaults;
    this.scope = options.scope;
    this.#project = new Project(api, nowMs);
    this.#members = new Members(api, nowMs);
    this.#blockers = new Blockers(api, this.#project, states);
    this.#histories = new ChangeHistories(api);
  }

  get states(): readonly string[] {
    return this.#options.states.names;
  }

  async issuesByStates(states: readonly string[], signal: AbortSignal): Promise<IssueBatch> {
    const { api, states: all } = this.#options;
    const known = new Set(states.flatMap((state) => all.named(state) ?? []));
    const problems = states
      .filter((state) => all.named(state) === null)
      .map((state) => `"${state}" is no state of ${api.project}, whose states are: ${all.names.join(', ')}.`);
    if (known.size === 0) return { ...NOTHING, problems };
    const reading = api.reading(signal);
    await this.#project.facts(reading);
    const batch = await readByStates([...known], await this.#order(reading));
    return { ...batch, problems: [...problems, ...(batch.problems ?? [])] };
  }

  async issuesByIds(ids: readonly string[], signal: AbortSignal): Promise<IssueBatch> {
    const iids = new Set(ids.flatMap((id) => iidOf(id) ?? []));
    if (iids.size === 0) return NOTHING;
    return readByNumbers([...iids], await this.#order(this.#options.api.reading(signal)));
  }

  async readComments(issue: Issue, signal: AbortSignal): Promise<readonly Comment[]> {
    const { api } = this.#options;
    const iid = iidOf(issue.id);
    if (iid === null) return [];
    return readComments(iid, { api, reading: api.reading(signal), members: this.#members, trust: this.#trust() });
  }

  update(issueId: string, change: IssueChange, signal: AbortSignal): Promise<IssueUpdate> {
    const { api, states } = this.#options;
    return changeIssue(issueId, change, { api, states, reading: api.reading(signal) });
  }

  tools(): readonly HostTool[] {
    const { api, rawTool: mode } = this.#options;
    if (mode === 'off') return [];
    const stateOf = (issueId: string, signal: AbortSignal) => this.#stateOf(issueId, signal);
    return [gitlabApiTool({ api, project: this.#project, mode, stateOf })];
  }

  inspect(signal: AbortSignal): Promise<TrackerFacts> {
    const { api, states, settings } = this.#options;
    return inspect({ api, states, reading: api.reading(signal), project: this.#project, settings: settings() });
  }

  async close(): Promise<void> {
    this.#options.api.close();
  }

  async #order(reading: HttpReading): Promise<ReadOrder> {
    const { api, states, settings } = this.#options;
    return {
      ...{ api, reading, project: this.#project, members: this.#members },
      ...{ blockers: this.#blockers, histories: this.#histories },
      mapping: { states, assignee: await this.#assignee(reading) },
      trust: this.#trust(),
      requiredLabels: settings().requiredLabels,
      stateLabelOf: (labels) => states.labelFor(labels),
    };
  }

  #trust(): Trust {
    return this.#options.settings().trust ?? DEFAULT_TRUST;
  }

  async #assignee(reading: HttpReading): Promise<string | null> {
    const { api, assignee } = this.#options;
    if (assignee?.toLowerCase() !== 'me') return assignee;
    this.#ownLogin ??= await readOwnLogin(api, reading);
    if (this.#ownLogin !== null) return this.#ownLogin;
    const message = `tracker.provider.assignee is "me", and GitLab does not tell whose token this is. Write the username to which issues are assigned.`;
    throw new BatonError('invalid_tracker_config', message);
  }

  async #stateOf(issueId: string, signal: AbortSignal): Promise<string | null> {
    const { api, states } = this.#options;
    const iid = iidOf(issueId);
    const issue = iid === null ? null : await readOne(iid, api, api.reading(signal));
    return issue === null || issue.isOpen === null ? null : states.of(issue.isOpen, issue.labels).state;
  }
}
