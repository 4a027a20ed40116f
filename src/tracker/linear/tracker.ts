import type { TrackerConfig, Trust } from '../../domain/config.js';
import type { Comment, Issue } from '../../domain/issue.js';
import { isAbsent } from '../../domain/json.js';
import type { HostTool, IssueBatch, IssueChange, IssueUpdate, Tracker, TrackerFacts } from '../../domain/ports.js';
import type { HttpReading } from '../http/tracker-http.js';
import type { RawToolMode } from '../provider-settings.js';
import type { TrackerAdapter, TrackerOptions } from '../registry.js';
import { LinearApi } from './api.js';
import { type IssueContext, IssueReader, readComments } from './read.js';
import { type LinearScope, ScopeCache } from './scope.js';
import { DEFAULT_TRUST, DEFAULTS, KIND, type LinearSettings, readLinearSettings, scopeName } from './settings.js';
import { linearTool } from './tool.js';
import { verifyLinearWebhook } from './webhook.js';
import { changeIssue } from './write.js';

export const linearTracker: TrackerAdapter = {
  kind: KIND,
  defaults: DEFAULTS,
  verifyWebhook: verifyLinearWebhook,
  create: (options) => new LinearTracker(readLinearSettings(options), options),
};

/** Issues of a Linear project, of a team, or of both. The first read resolves project, team and states. */
class LinearTracker implements Tracker {
  readonly kind = KIND;
  readonly defaults = DEFAULTS;
  readonly scope: string;
  readonly #settings: LinearSettings;
  readonly #options: Pick<TrackerOptions, 'config' | 'settings' | 'mask'>;
  readonly #api: LinearApi;
  readonly #scopes: ScopeCache;
  readonly #issues: IssueReader;

  constructor(settings: LinearSettings, options: Pick<TrackerOptions, 'config' | 'settings' | 'mask' | 'nowMs'>) {
    this.scope = scopeName(settings);
    this.#settings = settings;
    this.#options = options;
    const { endpoint, token } = settings;
    this.#api = new LinearApi({ endpoint, token, mask: (text) => options.mask(text) });
    this.#scopes = new ScopeCache(this.#api, settings, options.nowMs);
    this.#issues = new IssueReader(this.#api, this.#scopes);
  }

  get states(): readonly string[] {
    return this.#scopes.states;
  }

  async issuesByStates(states: readonly string[], signal: AbortSignal): Promise<IssueBatch> {
    if (states.length === 0) return { issues: [], unknown: [] };
    const { scope, reading, context } = await this.#startRead(signal);
    const { issues, problems } = await this.#issues.byStates(states, { scope, reading, context });
    this.#scopes.noteStates(issues.map(({ state }) => state));
    return { issues, unknown: [], problems, ...reading.rateLimit };
  }

  async issuesByIds(ids: readonly string[], signal: AbortSignal): Promise<IssueBatch> {
    if (ids.length === 0) return { issues: [], unknown: [] };
    const { scope, reading, context } = await this.#startRead(signal);
    const issues = await this.#issues.byIds(ids, { scope, reading, context });
    this.#scopes.noteStates(issues.map(({ state }) => state));
    return { issues, unknown: [], ...reading.rateLimit };
  }

  readComments(issue: Issue, signal: AbortSignal): Promise<readonly Comment[]> {
    return readComments(this.#api, this.#api.reading(signal), issue.id, this.#trust);
  }

  update(issueId: string, change: IssueChange, signal: AbortSignal): Promise<IssueUpdate> {
    return changeIssue(this.#api, this.#api.reading(signal), issueId, change);
  }

  tools(): readonly HostTool[] {
    const { rawTool: mode } = this.#settings;
    if (mode === 'off') return [];
    return [linearTool({ api: this.#api, mode, mask: (text) => this.#options.mask(text) })];
  }

  async prepare(signal: AbortSignal): Promise<void> {
    await this.#scopes.load(this.#api.reading(signal), 'invalid_tracker_config');
  }

  async inspect(signal: AbortSignal): Promise<TrackerFacts> {
    const reading = this.#api.reading(signal);
    const { viewer, project, team, states } = await this.#scopes.load(reading, 'invalid_tracker_config');
    const targets = [...(project ? [`project ${project.name}`] : []), ...(team ? [`team ${team.key}`] : [])];
    const isDisjoint = project !== null && team !== null && !project.teams.includes(team.key);
    const disjoint = isDisjoint
      ? [
          `Project ${project.name} does not belong to team ${team.key}, so no issue is in both. Fix tracker.provider.team.`,
        ]
      : [];
    const warnings = [...disjoint, ...rawToolWarnings(this.#settings.rawTool, this.#options.config)];
    return { user: viewer.name, target: targets.join(', '), states, warnings };
  }

  async close(): Promise<void> {
    this.#api.close();
  }

  /** Resolving the scope is not part of the reading: its cost is paid once an hour, not with each poll. */
  async #startRead(
    signal: AbortSignal,
  ): Promise<{ readonly scope: LinearScope; readonly reading: HttpReading; readonly context: IssueContext }> {
    const scope = await this.#scopes.read(this.#api.reading(signal));
    return { scope, reading: this.#api.reading(signal), context: this.#contextFor(scope) };
  }

  #contextFor({ viewer }: LinearScope): IssueContext {
    const { assignee } = this.#settings;
    const trust = this.#trust;
    if (assignee === null) return { trust, assignee };
    const { wanted, from } = assignee;
    const isViewer = wanted.toLowerCase() === 'me';
    const named = isViewer ? { wanted: viewer.id, shownAs: viewer.name } : { wanted, shownAs: wanted };
    return { trust, assignee: { ...named, shownAs: `${named.shownAs}${from}` } };
  }

  /** Read each time: the setting may change while the tracker lives. */
  get #trust(): Trust {
    return this.#options.settings().trust ?? DEFAULT_TRUST;
  }
}

/** The tool cannot be limited to the project: it reaches everything that the key reaches. */
function rawToolWarnings(mode: RawToolMode, { provider, isFlatForm }: TrackerConfig): string[] {
  if (mode === 'off') return [];
  const verb = mode === 'read_only' ? 'reads' : 'reads and changes';
  const reach = `linear_graphql is on: an agent ${verb} everything that the key may, in every team and project.`;
  const cause = isFlatForm && isAbsent(provider.raw_tool) ? " It is on because the file has Symphony's flat form." : '';
  return [`${reach}${cause} Where update_issue is enough, set tracker.provider.raw_tool to false.`];
}
