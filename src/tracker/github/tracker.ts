import type { TrackerConfig, Trust } from '../../domain/config.js';
import { BatonError } from '../../domain/errors.js';
import type { Comment, Issue } from '../../domain/issue.js';
import { fieldsOf, textOf } from '../../domain/json.js';
import type { HostTool, IssueBatch, IssueChange, IssueUpdate, Tracker, TrackerFacts } from '../../domain/ports.js';
import type { HttpReading } from '../http/tracker-http.js';
import { LabelStates, labelStatesOf, missingLabels, namedLabels } from '../label-states.js';
import { endpointOf, ProviderSettings, type RawToolMode } from '../provider-settings.js';
import type { TrackerEntry } from '../registry.js';
import { isSignedBy, type VerifyWebhook } from '../verify-webhook.js';
import { GithubApi, type RepoName, Repository, type RepositoryFacts } from './api.js';
import { loginOf, numberOf, OWN_STATES } from './issue.js';
import { type ReadOrder, readByNumbers, readByStates, readComments, readList, readOne } from './read.js';
import { githubApiTool } from './tool.js';
import { EditHistories } from './trust.js';
import { changeIssue } from './write.js';

/**
 * GitHub signs the body (`X-Hub-Signature-256`) and nothing else: no time, and not the id of the delivery. So a repetition is known by the
 * signature itself.
 */
export const verifyGithubWebhook: VerifyWebhook = ({ headers, body, secret }) => {
  const header = headers['x-hub-signature-256'];
  const hex = typeof header === 'string' && header.startsWith('sha256=') ? header.slice('sha256='.length) : null;
  if (hex === null) return { ok: false, status: 400, reason: 'it has no X-Hub-Signature-256: set a secret on GitHub' };
  if (!isSignedBy(secret, body, hex)) return { ok: false, status: 401, reason: 'its signature is not ours' };
  return { ok: true, delivery: hex.toLowerCase() };
};

const KIND = 'github';
const DEFAULTS = { activeStates: ['open'], terminalStates: ['closed'] };
const KEYS = ['repo', 'endpoint', 'token', 'assignee', 'state_labels', 'raw_tool'];
const ENDPOINT = 'https://api.github.com';
const VARIABLES = ['GITHUB_TOKEN', 'GH_TOKEN'];

export const githubTracker: TrackerEntry = {
  kind: KIND,
  defaults: DEFAULTS,
  verifyWebhook: verifyGithubWebhook,
  create(options) {
    const settings = new ProviderSettings(options, KEYS);
    const repo = repoOf(settings);
    const endpoint = apiOf(settings);
    const api = new GithubApi({
      endpoint,
      repo,
      token: settings.token('token', VARIABLES),
      mask: (text) => options.mask(text),
    });
    return new GithubTracker({
      ...{ kind: KIND, defaults: DEFAULTS, api, nowMs: options.nowMs },
      scope: `${KIND}:${endpoint.host}/${repo.owner}/${repo.name}`.toLowerCase(),
      states: new LabelStates(OWN_STATES, labelStatesOf(settings, OWN_STATES)),
      assignee: settings.text('assignee')?.replace(/^@/, '') ?? null,
      rawTool: settings.rawTool('off'),
      settings: () => options.settings(),
    });
  },
};

/** Strict, since it becomes part of every path. */
function repoOf(settings: ProviderSettings): RepoName {
  const written = settings.needText('repo', 'owner/name');
  const [, owner, name] = /^([A-Za-z0-9][A-Za-z0-9_-]{0,99})\/([A-Za-z0-9._-]{1,100})$/.exec(written) ?? [];
  if (owner === undefined || name === undefined || /^\.{1,2}$|\.git$/i.test(name))
    throw settings.wrong('repo', 'must be owner/name, without address and ending');
  return { owner, name };
}

function apiOf(settings: ProviderSettings): URL {
  const endpoint = endpointOf(settings.text('endpoint') ?? ENDPOINT, 'tracker.provider.endpoint');
  if (!/^(?:www\.)?github\.com$/.test(endpoint.hostname)) return endpoint;
  const message = `tracker.provider.endpoint is the address of GitHub's pages. Leave it out, or write ${ENDPOINT}, where its API is.`;
  throw new BatonError('invalid_tracker_config', message);
}

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
class GithubTracker implements Tracker {
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

interface InspectOrder {
  readonly api: GithubApi;
  readonly reading: HttpReading;
  readonly repository: Repository;
  readonly states: LabelStates;
  readonly settings: TrackerConfig;
}

async function inspect({ api, reading, repository, states, settings }: InspectOrder): Promise<TrackerFacts> {
  const user = await readOwnLogin(api, reading);
  const facts = await repository.admitNow(reading, settings);
  return {
    user,
    target: facts.fullName,
    states: states.names,
    warnings: [
      ...aboutRepository(facts),
      ...(facts.hasIssues ? await aboutLabels({ api, reading, states, settings }) : []),
    ],
  };
}

/** As whom the token is known; `null`: as an app, which is nobody. */
async function readOwnLogin(api: GithubApi, reading: HttpReading): Promise<string | null> {
  const answer = await reading.get(api.path('user')).catch((error: unknown) => {
    if (error instanceof BatonError && error.code === 'tracker_auth' && error.details.status === 403) return null;
    throw error;
  });
  const login = answer === null ? null : loginOf(answer.body);
  if (answer === null || login !== null) return login;
  const message = 'GitHub told nothing of the owner of the token. Check tracker.provider.endpoint.';
  throw new BatonError('tracker_response', message);
}

function aboutRepository({ fullName, hasIssues, isArchived, mayChange }: RepositoryFacts): readonly string[] {
  return [
    ...(hasIssues ? [] : [`Issues are switched off in ${fullName}: switch them on in its settings.`]),
    ...(isArchived ? [`${fullName} is archived: its issues can be read, but not changed.`] : []),
    ...(mayChange === false
      ? [
          `The token may read the issues of ${fullName}, but not label or close those of others: agents cannot move them.`,
        ]
      : []),
  ];
}

async function aboutLabels(order: Pick<InspectOrder, 'api' | 'reading' | 'states' | 'settings'>) {
  const { api, reading, states, settings } = order;
  const named = namedLabels(states, settings.requiredLabels);
  if (named.size === 0) return [];
  const labels = await readList(api, reading, {
    segments: ['labels'],
    read: (value) => textOf(fieldsOf(value).name),
    idOf: (name) => name,
  });
  return missingLabels(named, labels, api.fullName);
}
