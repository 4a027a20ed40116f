import type { TrackerConfig } from '../../domain/config.js';
import { BatonError } from '../../domain/errors.js';
import type { Comment, Issue } from '../../domain/issue.js';
import { type Fields, fieldsOf, foundIn, listOf, textOf } from '../../domain/json.js';
import type { HostTool, IssueBatch, IssueChange, IssueUpdate, Tracker, TrackerFacts } from '../../domain/ports.js';
import { type HttpReading, TrackerHttp } from '../http/tracker-http.js';
import { normaliseIssue, normaliseList, type RawIssue } from '../normalise-issue.js';
import { endpointOf, ProviderSettings, type RawToolMode } from '../provider-settings.js';
import type { TrackerEntry } from '../registry.js';
import { trustedComments } from '../trust.js';
import { BoardFacts, issueNumberOf, type Me, People, type Person, personIn, statusNamed, unreadable } from './api.js';
import {
  issuesByNumber,
  issuesInStatuses,
  notesIn,
  readBlockers,
  readWhole,
  recordToIssue,
  type Scope,
} from './read.js';
import { redmineTool } from './tool.js';
import { changeIssue } from './write.js';

interface RedmineOptions {
  readonly kind: string;
  readonly defaults: Tracker['defaults'];
  readonly http: TrackerHttp;
  readonly base: URL;
  readonly scope: Scope;
  readonly assignee: string | null;
  readonly labelFields: readonly string[];
  readonly rawTool: RawToolMode;
  readonly tokenFrom: string;
  mask(text: string): string;
  settings(): Pick<TrackerConfig, 'trust' | 'requiredLabels'>;
  readonly nowMs: () => number;
}

/** Whoever has an account, or nobody at all: Redmines are mostly closed to strangers as a whole. */
const DEFAULT_TRUST = 'anyone';

/**
 * The issues of one project of a Redmine. It keeps what changes rarely (who we are, statuses, members) for five minutes, and nothing of the
 * issues themselves.
 */
class RedmineTracker implements Tracker {
  readonly kind: string;
  readonly defaults: Tracker['defaults'];
  readonly scope: string;
  readonly #options: RedmineOptions;
  readonly #facts: BoardFacts;
  readonly #people: People;

  constructor(options: RedmineOptions) {
    const { kind, defaults, base, scope, nowMs, tokenFrom } = options;
    this.kind = kind;
    this.defaults = defaults;
    this.scope = `${kind}:${base.host}${base.pathname.replace(/\/$/, '')}/${scope.project}`;
    this.#options = options;
    this.#facts = new BoardFacts(nowMs, tokenFrom);
    this.#people = new People(scope.project, nowMs);
  }

  get states(): readonly string[] {
    return this.#facts.statuses.map(({ name }) => name);
  }

  async issuesByStates(states: readonly string[], signal: AbortSignal): Promise<IssueBatch> {
    if (states.length === 0) return { issues: [], unknown: [] };
    const reading = this.#reading(signal);
    const facts = await this.#facts.knowing(states, reading);
    const ids = states.flatMap((state) => statusNamed(facts, state)?.id ?? []);
    const unknown = states
      .filter((state) => statusNamed(facts, state) === null)
      .map((state) => `"${state}" is no status of this Redmine, whose statuses are: ${this.states.join(', ')}.`);
    if (ids.length === 0) return { issues: [], unknown: [], problems: unknown };
    const records = await issuesInStatuses(reading, this.#options.scope, [...new Set(ids)]);
    // In a public project a key that was reset reads on as a stranger: what starts then fails at its first word.
    await this.#facts.verifyKey(reading);
    const { issues, problems } = await normaliseList(mapped(records, await this.#mapper(records, reading)));
    return { issues, unknown: [], problems: [...unknown, ...problems], ...reading.rateLimit };
  }

  async issuesByIds(ids: readonly string[], signal: AbortSignal): Promise<IssueBatch> {
    if (ids.length === 0) return { issues: [], unknown: [] };
    const reading = this.#reading(signal);
    await this.#facts.fresh(reading);
    const numbers = new Set(ids.flatMap((id) => issueNumberOf(id) ?? []));
    const found = await issuesByNumber(reading, this.#options.scope, [...numbers]);
    if (found.size < numbers.size) await this.#facts.verifyKey(reading);
    const records = [...found.values()];
    const toRaw = await this.#mapper(records, reading);
    return { issues: records.map((record) => normaliseIssue(toRaw(record))), unknown: [], ...reading.rateLimit };
  }

  async readComments(issue: Issue, signal: AbortSignal): Promise<readonly Comment[]> {
    const number = issueNumberOf(issue.id);
    if (number === null) return [];
    const reading = this.#reading(signal);
    // What an agent hears it may repeat where everybody reads.
    const notes = notesIn(await readWhole(reading, number, 'journals')).filter(({ isPrivate }) => !isPrivate);
    const people = notes.map(({ person }) => person);
    const judge = await this.#people.judge(people, this.#trust, reading);
    const written = notes.map(({ person, text, createdAt }) => ({
      ...{ login: person.name, isMember: judge(person) },
      ...{ body: text, created_at: createdAt },
    }));
    return trustedComments(written, 'members');
  }

  update(issueId: string, change: IssueChange, signal: AbortSignal): Promise<IssueUpdate> {
    const { scope, mask } = this.#options;
    return changeIssue(issueId, change, { reading: this.#reading(signal), scope, facts: this.#facts, mask });
  }

  tools(): readonly HostTool[] {
    const { scope, rawTool, mask } = this.#options;
    if (rawTool === 'off') return [];
    return [
      redmineTool({ scope, isReadOnly: rawTool === 'read_only', mask, reading: (signal) => this.#reading(signal) }),
    ];
  }

  inspect(signal: AbortSignal): Promise<TrackerFacts> {
    const { scope, base, tokenFrom, settings } = this.#options;
    const { requiredLabels } = settings();
    return inspectRedmine({
      reading: this.#reading(signal),
      scope,
      facts: this.#facts,
      base,
      tokenFrom,
      requiredLabels,
    });
  }

  async close(): Promise<void> {
    this.#options.http.close();
  }

  get #trust() {
    return this.#options.settings().trust ?? DEFAULT_TRUST;
  }

  #reading(signal: AbortSignal): HttpReading {
    return this.#options.http.reading(signal);
  }

  /** How these records become issues, once all that takes a question is known. */
  async #mapper(records: readonly Fields[], reading: HttpReading): Promise<(record: Fields) => RawIssue> {
    const { base, labelFields, assignee } = this.#options;
    const names = new Set(foundIn(records, (record) => textOf(fieldsOf(fieldsOf(record).status).name)));
    const { me } = await this.#facts.knowing([...names], reading);
    const authors = records.map(({ author }) => personIn(author));
    const assignees = records.map(({ assigned_to: to }) => personIn(to));
    const context = {
      site: base.href.replace(/\/$/, ''),
      labelFields: new Set(labelFields.map((name) => name.toLowerCase())),
      judge: await this.#people.judge(authors, this.#trust, reading),
      heldBack: await heldBackBy(assignee, assignees, { me, people: this.#people, reading }),
      blockersOf: await readBlockers(records, reading),
      isTrustAList: typeof this.#trust !== 'string',
    };
    return (record) => recordToIssue(record, context);
  }
}

/** One by one, as they are wanted: others have their turn in between. */
function* mapped(records: readonly Fields[], toRaw: (record: Fields) => RawIssue): Generator<RawIssue> {
  for (const record of records) yield toRaw(record);
}

interface InspectOptions {
  readonly reading: HttpReading;
  readonly scope: Scope;
  readonly facts: BoardFacts;
  readonly base: URL;
  readonly tokenFrom: string;
  readonly requiredLabels: readonly string[];
}

/** A good key, a project that it can see, and what there is to say about both. */
async function inspectRedmine(options: InspectOptions): Promise<TrackerFacts> {
  const { reading, scope, facts, base } = options;
  const { me, statuses } = await facts.fresh(reading);
  const project = await readProject(me, options);
  // Whether issues can be read at all: the module may be off, and a right may be missing.
  await issuesByNumber(reading, scope, [1]);
  const admin = `The key is that of ${me.login}, an administrator: it can change every project. Use an account that is a member of this one only.`;
  const closed = `The project "${scope.project}" is closed: its issues can be read and not changed. Reopen it.`;
  return {
    user: me.login,
    target: `project ${project.name} (${scope.project}${scope.withSubprojects ? ' and its subprojects' : ''}) at ${base.host}`,
    states: statuses.map(({ name }) => name),
    warnings: [...(me.isAdmin ? [admin] : []), ...(project.isClosed ? [closed] : []), ...(await aboutLabels(options))],
  };
}

/** Redmine has no labels: categories and trackers are what it can be asked for, values of list fields it does not tell. */
async function aboutLabels({ reading, scope, requiredLabels }: InspectOptions): Promise<readonly string[]> {
  if (requiredLabels.length === 0) return [];
  const project = `/projects/${encodeURIComponent(scope.project)}`;
  const lists = [
    [`${project}/issue_categories.json`, 'issue_categories'],
    ['/trackers.json', 'trackers'],
  ] as const;
  const names = new Set<string>();
  for (const [path, key] of lists) {
    const { body, status } = await reading.get(path, { accept: [403, 404] });
    // Not told to this account: then nothing can be said about it.
    if (status !== 200) return [];
    for (const each of listOf(fieldsOf(body)[key])) names.add(textOf(fieldsOf(each).name)?.trim().toLowerCase() ?? '');
  }
  return requiredLabels
    .filter((label) => !names.has(label))
    .map(
      (label) =>
        `The project "${scope.project}" has no category "${label}", which tracker.required_labels names. Make one in the project's settings, unless it is a value of a list field.`,
    );
}

const CLOSED = 5;

async function readProject(me: Me, { reading, scope, tokenFrom }: InspectOptions) {
  const path = `/projects/${encodeURIComponent(scope.project)}.json`;
  const { body, status } = await reading.get(path, { accept: [403, 404] });
  if (status === 404) {
    const message = `Redmine knows no project "${scope.project}". Write its identifier, as in the address of its page, into tracker.provider.project.`;
    throw new BatonError('invalid_tracker_config', message);
  }
  if (status === 403) {
    const message = `Redmine does not show the project "${scope.project}" to ${me.login}, whose key is in ${tokenFrom} (403). Make ${me.login} a member of it, or fix tracker.provider.project; it may be archived, too.`;
    throw new BatonError('tracker_auth', message, { status });
  }
  const project = fieldsOf(fieldsOf(body).project);
  const name = textOf(project.name);
  if (name === null) throw unreadable(path, 'without the project');
  return { name, isClosed: project.status === CLOSED };
}

/** Says why an issue with such an assignee is left alone, going on from "it …"; `null`: it is not. `wanted: null`: nobody cares. */
async function heldBackBy(
  wanted: string | null,
  assignees: readonly Person[],
  { me, people, reading }: { readonly me: Me; readonly people: People; readonly reading: HttpReading },
): Promise<(assignee: Person) => string | null> {
  if (wanted === null) return () => null;
  const isMe = [me.login, String(me.id), 'me'].some((name) => name.toLowerCase() === wanted.toLowerCase());
  const ours = new Set<number>();
  for (const id of new Set(assignees.flatMap((person) => person.id ?? []))) {
    if (isMe ? id === me.id : await people.isOneOf(id, [wanted], reading)) ours.add(id);
  }
  return ({ id, name }) => {
    if (id !== null && ours.has(id)) return null;
    return `is assigned to ${id === null ? 'nobody' : (name ?? `user ${id}`)}, not to ${isMe ? me.login : wanted}`;
  };
}

const KIND = 'redmine';
/** Of Redmine's own default statuses. "Resolved" is neither: it waits for a person. */
const DEFAULTS = { activeStates: ['New', 'In Progress'], terminalStates: ['Closed', 'Rejected'] };
const KEYS = ['endpoint', 'project', 'api_key', 'assignee', 'include_subprojects', 'label_fields', 'raw_tool'];
const VARIABLES = ['REDMINE_API_KEY'];

export const redmineTracker: TrackerEntry = {
  kind: KIND,
  defaults: DEFAULTS,
  create(options) {
    const settings = new ProviderSettings(options, KEYS);
    const base = endpointOf(settings.needText('endpoint', 'https://redmine.example.org'), 'tracker.provider.endpoint');
    const project = projectOf(settings);
    const withSubprojects = flagOf(settings, 'include_subprojects', options.config.provider.include_subprojects);
    const labelFields = settings.list('label_fields');
    const rawTool = settings.rawTool('off');
    const assignee = settings.text('assignee');
    const token = settings.token('api_key', VARIABLES);
    const mask = (text: string) => options.mask(text).replaceAll(token.value, '[secret]');
    const http = new TrackerHttp({
      name: 'Redmine',
      base,
      headers: { 'x-redmine-api-key': token.value },
      tokenFrom: token.from,
      // Redmine counts nothing; a proxy in front of it says 429 when it does.
      readQuota: () => null,
      mask,
    });
    return new RedmineTracker({
      ...{ kind: KIND, defaults: DEFAULTS, http, base, tokenFrom: token.from, mask, nowMs: options.nowMs },
      ...{ assignee, labelFields, rawTool },
      scope: { project, withSubprojects },
      settings: () => options.settings(),
    });
  },
};

/** An identifier or a number, as in the address of the project's page. Strict, since it becomes part of paths. */
function projectOf(settings: ProviderSettings): string {
  const project = settings.needText('project', 'my-app');
  if (/^[a-z0-9][a-z0-9_-]{0,99}$/.test(project)) return project;
  throw settings.wrong('project', "must be the project's identifier, as in the address of its page, or its number");
}

function flagOf(settings: ProviderSettings, key: string, written: unknown): boolean {
  if (written === undefined || written === null) return false;
  if (typeof written === 'boolean') return written;
  throw settings.wrong(key, 'must be true or false');
}
