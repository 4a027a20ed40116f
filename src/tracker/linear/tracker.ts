import type { Trust } from '../../domain/config.js';
import type { Comment, Issue } from '../../domain/issue.js';
import { fieldsOf } from '../../domain/json.js';
import type { HostTool, IssueBatch, IssueChange, IssueUpdate, Tracker, TrackerFacts } from '../../domain/ports.js';
import type { TrackerEntry, TrackerOptions } from '../registry.js';
import { isSignedBy, type VerifyWebhook } from '../verify-webhook.js';
import { LinearApi } from './api.js';
import { IssueReader, type Reader, readComments } from './read.js';
import { type LinearScope, ScopeReader } from './scope.js';
import { KIND, type LinearSettings, linearSettings, scopeOf } from './settings.js';
import { graphqlTool } from './tool.js';
import { changeIssue } from './write.js';

/** Linear asks to take nothing that is older than a minute; a clock may be off in both directions. */
const MAX_AGE_MS = 60_000;

/** Linear signs the body (`Linear-Signature`), and the body says when it was sent. Nothing of it is parsed before its signature is believed. */
export const verifyLinearWebhook: VerifyWebhook = ({ headers, body, secret, nowMs }) => {
  const hex = headers['linear-signature'];
  if (typeof hex !== 'string') return { ok: false, status: 400, reason: 'it has no Linear-Signature' };
  if (!isSignedBy(secret, body, hex)) return { ok: false, status: 401, reason: 'its signature is not ours' };
  const sentAtMs = timestampIn(body);
  if (sentAtMs === null) return { ok: false, status: 400, reason: 'its body is no JSON with a webhookTimestamp' };
  if (Math.abs(nowMs - sentAtMs) > MAX_AGE_MS) {
    const reason = 'it was sent more than a minute ago, or the clock of this machine is wrong';
    return { ok: false, status: 401, reason };
  }
  return { ok: true, delivery: hex.toLowerCase() };
};

function timestampIn(body: Buffer): number | null {
  try {
    const { webhookTimestamp } = fieldsOf(JSON.parse(body.toString('utf8')));
    return typeof webhookTimestamp === 'number' && Number.isFinite(webhookTimestamp) ? webhookTimestamp : null;
  } catch {
    return null;
  }
}

const DEFAULTS = {
  activeStates: ['Todo', 'In Progress'],
  terminalStates: ['Closed', 'Cancelled', 'Canceled', 'Duplicate', 'Done'],
};

/** Only those who were let into the workspace can write in Linear. */
const DEFAULT_TRUST: Trust = 'anyone';

export const linearTracker: TrackerEntry = {
  kind: KIND,
  defaults: DEFAULTS,
  verifyWebhook: verifyLinearWebhook,
  create: (options) => new LinearTracker(linearSettings(options), options),
};

/** Issues of a Linear project, of a team, or of both. What is looked at is found out with the first read. */
class LinearTracker implements Tracker {
  readonly kind = KIND;
  readonly defaults = DEFAULTS;
  readonly scope: string;
  readonly #settings: LinearSettings;
  readonly #options: Pick<TrackerOptions, 'settings' | 'mask'>;
  readonly #api: LinearApi;
  readonly #scopes: ScopeReader;
  readonly #issues: IssueReader;

  constructor(settings: LinearSettings, options: Pick<TrackerOptions, 'settings' | 'mask' | 'nowMs'>) {
    this.scope = scopeOf(settings);
    this.#settings = settings;
    this.#options = options;
    const { endpoint, token } = settings;
    this.#api = new LinearApi({ endpoint, token, mask: (text) => options.mask(text) });
    this.#scopes = new ScopeReader(this.#api, settings, options.nowMs);
    this.#issues = new IssueReader(this.#api, this.#scopes);
  }

  get states(): readonly string[] {
    return this.#scopes.states;
  }

  async issuesByStates(states: readonly string[], signal: AbortSignal): Promise<IssueBatch> {
    if (states.length === 0) return { issues: [], unknown: [] };
    const scope = await this.#scopes.get(this.#api.reading(signal));
    const reading = this.#api.reading(signal);
    const { issues, problems } = await this.#issues.byStates(states, { scope, reading, reader: this.#reader(scope) });
    this.#scopes.noteStates(issues.map(({ state }) => state));
    return { issues, unknown: [], problems, ...reading.rateLimit };
  }

  async issuesByIds(ids: readonly string[], signal: AbortSignal): Promise<IssueBatch> {
    if (ids.length === 0) return { issues: [], unknown: [] };
    const scope = await this.#scopes.get(this.#api.reading(signal));
    const reading = this.#api.reading(signal);
    const issues = await this.#issues.byRefs(ids, { scope, reading, reader: this.#reader(scope) });
    this.#scopes.noteStates(issues.map(({ state }) => state));
    return { issues, unknown: [], ...reading.rateLimit };
  }

  update(issueId: string, change: IssueChange, signal: AbortSignal): Promise<IssueUpdate> {
    return changeIssue(this.#api, this.#api.reading(signal), issueId, change);
  }

  readComments(issue: Issue, signal: AbortSignal): Promise<readonly Comment[]> {
    return readComments(this.#api, this.#api.reading(signal), issue.id, this.#trust);
  }

  tools(): readonly HostTool[] {
    const { rawTool: mode } = this.#settings;
    if (mode === 'off') return [];
    return [graphqlTool({ api: this.#api, mode, mask: (text) => this.#options.mask(text) })];
  }

  async prepare(signal: AbortSignal): Promise<void> {
    await this.#scopes.load(this.#api.reading(signal), 'invalid_tracker_config');
  }

  async inspect(signal: AbortSignal): Promise<TrackerFacts> {
    const { viewer, project, team, states } = await this.#scopes.load(
      this.#api.reading(signal),
      'invalid_tracker_config',
    );
    const targets = [...(project ? [`project ${project.name}`] : []), ...(team ? [`team ${team.key}`] : [])];
    const isApart = project !== null && team !== null && !project.teams.includes(team.key);
    const apart = isApart
      ? [`Project ${project.name} is no project of team ${team.key}: no issue is in both. Fix tracker.provider.team.`]
      : [];
    return {
      user: viewer.name,
      target: targets.join(', '),
      states,
      warnings: apart,
    };
  }

  async close(): Promise<void> {
    this.#api.close();
  }

  /** Settings that may have changed since the last read. */
  #reader({ viewer }: LinearScope): Reader {
    const { assignee } = this.#settings;
    const trust = this.#trust;
    if (assignee === null) return { trust, assignee };
    const { wanted, from } = assignee;
    const isMe = wanted.toLowerCase() === 'me';
    const named = isMe ? { wanted: viewer.id, shownAs: viewer.name } : { wanted, shownAs: wanted };
    return { trust, assignee: { ...named, shownAs: `${named.shownAs}${from}` } };
  }

  get #trust(): Trust {
    return this.#options.settings().trust ?? DEFAULT_TRUST;
  }
}
