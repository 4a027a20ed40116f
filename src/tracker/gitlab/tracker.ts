import type { TrackerConfig, Trust } from '../../domain/config.js';
import { BatonError } from '../../domain/errors.js';
import type { Comment, Issue } from '../../domain/issue.js';
import { fieldsOf, textOf } from '../../domain/json.js';
import type { HostTool, IssueBatch, IssueChange, IssueUpdate, Tracker, TrackerFacts } from '../../domain/ports.js';
import type { HttpReading } from '../http/tracker-http.js';
import { type LabelState, LabelStates, labelStatesOf, missingLabels, namedLabels } from '../label-states.js';
import { endpointOf, ProviderSettings, type RawToolMode } from '../provider-settings.js';
import type { TrackerEntry } from '../registry.js';
import { GitlabApi, Project, type ProjectFacts, readList } from './api.js';
import { iidOf, OWN_STATES, usernameOf } from './issue.js';
import { Blockers, type ReadOrder, readByNumbers, readByStates, readComments, readOne } from './read.js';
import { gitlabApiTool } from './tool.js';
import { ChangeHistories, Members } from './trust.js';
import { changeIssue } from './write.js';

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
class GitlabTracker implements Tracker {
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

interface InspectOrder {
  readonly api: GitlabApi;
  readonly reading: HttpReading;
  readonly project: Project;
  readonly states: LabelStates;
  readonly settings: Pick<TrackerConfig, 'requiredLabels'>;
}

async function inspect({ api, reading, project, states, settings }: InspectOrder): Promise<TrackerFacts> {
  const user = await readOwnLogin(api, reading);
  const facts = await project.read(reading);
  return {
    user,
    target: facts.fullPath,
    states: states.names,
    warnings: [
      ...aboutProject(facts),
      ...(facts.hasIssues ? await aboutLabels({ api, reading, states, settings }, facts) : []),
    ],
  };
}

/** As whom the token is known; `null`: it may not ask. */
async function readOwnLogin(api: GitlabApi, reading: HttpReading): Promise<string | null> {
  const { status, body } = await reading.get(api.path('user'), { accept: [403] });
  return status === 403 ? null : usernameOf(body);
}

/** Planner: below it, labels and states of others' issues cannot be changed. */
const CHANGER_LEVEL = 15;

function aboutProject({ fullPath, hasIssues, isArchived, level }: ProjectFacts): readonly string[] {
  return [
    ...(hasIssues ? [] : [`Issues are switched off in ${fullPath}: switch them on in its settings.`]),
    ...(isArchived ? [`${fullPath} is archived: its issues can be read, but not changed.`] : []),
    ...(level !== null && level < CHANGER_LEVEL
      ? [`The role of the token in ${fullPath} is below Planner: agents cannot move the issues of others.`]
      : []),
  ];
}

async function aboutLabels(
  { api, reading, states, settings }: Omit<InspectOrder, 'project'>,
  { fullPath }: ProjectFacts,
): Promise<readonly string[]> {
  const named = namedLabels(states, settings.requiredLabels);
  if (named.size === 0) return [];
  const labels = await readList(api, reading, {
    segments: ['labels'],
    read: (value) => textOf(fieldsOf(value).name),
    idOf: (name) => name,
  });
  return missingLabels(named, labels, fullPath);
}

const KIND = 'gitlab';
const DEFAULTS = { activeStates: ['opened'], terminalStates: ['closed'] };
const KEYS = ['project', 'endpoint', 'token', 'assignee', 'state_labels', 'raw_tool'];
const ENDPOINT = 'https://gitlab.com';
const VARIABLES = ['GITLAB_TOKEN'];

export const gitlabTracker: TrackerEntry = {
  kind: KIND,
  defaults: DEFAULTS,
  create(options) {
    const settings = new ProviderSettings(options, KEYS);
    const project = projectOf(settings);
    const endpoint = instanceOf(settings);
    const api = new GitlabApi({
      ...{ endpoint, project },
      token: settings.token('token', VARIABLES),
      mask: (text) => options.mask(text),
    });
    const place = `${endpoint.host}${endpoint.pathname}`.replace(/\/$/, '');
    return new GitlabTracker({
      ...{ kind: KIND, defaults: DEFAULTS, api, nowMs: options.nowMs },
      scope: `${KIND}:${place}/${project}`.toLowerCase(),
      states: new LabelStates(OWN_STATES, statesOf(settings)),
      assignee: settings.text('assignee')?.replace(/^@/, '') ?? null,
      rawTool: settings.rawTool('off'),
      settings: () => options.settings(),
    });
  },
};

/** Strict, since it becomes part of every path. */
function projectOf(settings: ProviderSettings): string {
  const written = settings.needText('project', 'group/project');
  const isNumber = /^[1-9]\d{0,14}$/.test(written);
  const isPath = /^[A-Za-z0-9_][A-Za-z0-9_.-]*(?:\/[A-Za-z0-9_][A-Za-z0-9_.-]*)+$/.test(written);
  if (isNumber || (isPath && written.length <= 500 && !/\.git$/i.test(written))) return written;
  throw settings.wrong('project', 'must be group/project or a number, without address and ending');
}

/** People copy the address of the API as well as that of the page. */
function instanceOf(settings: ProviderSettings): URL {
  const endpoint = endpointOf(settings.text('endpoint') ?? ENDPOINT, 'tracker.provider.endpoint');
  endpoint.pathname = endpoint.pathname.replace(/\/api\/v4$/, '');
  return endpoint;
}

/** GitLab takes several labels in one text. */
function statesOf(settings: ProviderSettings): readonly LabelState[] {
  const states = labelStatesOf(settings, OWN_STATES);
  const odd = states.find(({ label }) => label.includes(','));
  if (odd) throw settings.wrong('state_labels', `names the label "${odd.label}": no label has a comma`);
  return states;
}
