import type { TrackerConfig, Trust } from '../../domain/config.js';
import { BatonError } from '../../domain/errors.js';
import type { Comment, Issue } from '../../domain/issue.js';
import type { HostTool, IssueBatch, IssueChange, IssueUpdate, Tracker, TrackerFacts } from '../../domain/ports.js';
import type { HttpReading } from '../http/tracker-http.js';
import type { LabelStates } from '../label-states.js';
import type { RawToolMode } from '../provider-settings.js';
import { changeIssue } from './write.js';
import type { ReadOrder } from './complete-issues.js';
import { EditHistories } from './trust.js';
import type { GithubApi } from './api.js';
import { githubApiTool } from './tool.js';
import { inspect, readOwnLogin } from './inspect.js';
import { numberOf } from './issue-number.js';
import { readComments } from './read-comments.js';
import { readByNumbers, readByStates, readOne } from './read.js';
import { Repository } from './repository.js';

interface GithubTrackerOptions {
  readonly kind: string;
  readonly defaults: Tracker['defaults'];
  readonly scope: string;
  readonly api: GithubApi;
  readonly states: LabelStates;
  /** A login, or `me`. */
  readonly assignee: string | null;
  readonly rawTool: RawToolMode;
  /** Asked anew each time: labels and trust may change. */
  settings(): TrackerConfig;
  nowMs(): number;
}

/** Whoever may write to a repository is trusted, unless somebody decides otherwise. */
const DEFAULT_TRUST: Trust = 'members';
const NOTHING: IssueBatch = { issues: [], unknown: [] };

/**
 * The issues of one GitHub repository. What it remembers between reads: the answers that GitHub need not send again, who changed which version of an issue, that the
 * repository was found fit to be read from, and as whom the token is known.
 */
export class GithubTracker implements Tracker {
  readonly kind: string;
  readonly defaults: Tracker['defaults'];
  readonly scope: string;
  readonly #options: GithubTrackerOptions;
  readonly #repository: Repository;
  readonly #histories: EditHistories;
  #ownLogin: string | null = null;

  constructor(options: GithubTrackerOptions) {
    this.#options = options;
    this.kind = options.kind;
    this.defaults = options.defaults;
    this.scope = options.scope;
    this.#repository = new Repository(options.api, () => options.nowMs());
    this.#histories = new EditHistories(options.api);
  }

  get states(): readonly string[] {
    return this.#options.states.names;
  }

  async prepare(signal: AbortSignal): Promise<void> {
    await this.#repository.admitNow(this.#options.api.reading(signal), this.#options.settings());
  }

  async issuesByStates(states: readonly string[], signal: AbortSignal): Promise<IssueBatch> {
    const { api, states: all } = this.#options;
    const known = new Set(states.flatMap((state) => all.named(state) ?? []));
    const problems = states
      .filter((state) => all.named(state) === null)
      .map((state) => `"${state}" is no state of ${api.fullName}, whose states are: ${all.names.join(', ')}.`);
    if (known.size === 0) return { ...NOTHING, problems };
    const reading = api.reading(signal);
    await this.#repository.admit(reading, this.#options.settings());
    const batch = await readByStates([...known], await this.#order(reading));
    return { ...batch, problems: [...problems, ...(batch.problems ?? [])] };
  }

  async issuesByIds(ids: readonly string[], signal: AbortSignal): Promise<IssueBatch> {
    const numbers = new Set(ids.flatMap((id) => numberOf(id) ?? []));
    if (numbers.size === 0) return NOTHING;
    return readByNumbers([...numbers], await this.#order(this.#options.api.reading(signal)));
  }

  async readComments(issue: Issue, signal: AbortSignal): Promise<readonly Comment[]> {
    const { api } = this.#options;
    const number = numberOf(issue.id);
    return number === null ? [] : readComments(number, api, api.reading(signal), this.#trust());
  }

  update(issueId: string, change: IssueChange, signal: AbortSignal): Promise<IssueUpdate> {
    const { api, states } = this.#options;
    return changeIssue(issueId, change, { api, states, reading: api.reading(signal) });
  }

  tools(): readonly HostTool[] {
    const { api, rawTool: mode } = this.#options;
    if (mode === 'off') return [];
    return [githubApiTool({ api, mode, stateOf: (issueId, signal) => this.#stateOf(issueId, signal) })];
  }

  inspect(signal: AbortSignal): Promise<TrackerFacts> {
    const { api, states, settings } = this.#options;
    return inspect({ api, states, reading: api.reading(signal), repository: this.#repository, settings: settings() });
  }

  async close(): Promise<void> {
    this.#options.api.close();
  }

  async #order(reading: HttpReading): Promise<ReadOrder> {
    const { api, states, settings } = this.#options;
    const { requiredLabels } = settings();
    const mapping = { states, trust: this.#trust(), assignee: await this.#assignee(reading) };
    return { api, reading, repository: this.#repository, histories: this.#histories, mapping, requiredLabels };
  }

  #trust(): Trust {
    return this.#options.settings().trust ?? DEFAULT_TRUST;
  }

  async #assignee(reading: HttpReading): Promise<string | null> {
    const { api, assignee } = this.#options;
    if (assignee?.toLowerCase() !== 'me') return assignee;
    this.#ownLogin ??= await readOwnLogin(api, reading);
    if (this.#ownLogin !== null) return this.#ownLogin;
    const message = `tracker.provider.assignee is "me", and GitHub does not tell whose token this is. Write the login to which issues are assigned.`;
    throw new BatonError('invalid_tracker_config', message);
  }

  async #stateOf(issueId: string, signal: AbortSignal): Promise<string | null> {
    const { api, states } = this.#options;
    const number = numberOf(issueId);
    const issue = number === null ? null : await readOne(number, { api, reading: api.reading(signal) });
    return issue === null || issue.isOpen === null ? null : states.of(issue.isOpen, issue.labels).state;
  }
}
