import type { TrackerConfig, Trust } from '../../domain/config.js';
import { BatonError } from '../../domain/errors.js';
import type { Comment, Issue } from '../../domain/issue.js';
import { type Fields, fieldsOf, foundIn, listOf, textOf } from '../../domain/json.js';
import type { HostTool, IssueBatch, IssueChange, IssueUpdate, Tracker, TrackerFacts } from '../../domain/ports.js';
import type { HttpReading, TrackerHttp } from '../http/tracker-http.js';
import { normaliseIssue, normaliseList, type RawIssue } from '../normalise-issue.js';
import type { TrackerAdapter, TrackerOptions } from '../registry.js';
import { trustedComments } from '../trust.js';
import { invalidAnswer, issueNumberOf, redmineHttp } from './api.js';
import { type Account, FactsCache, statusNamed } from './facts.js';
import { notesIn, readBlockers, readByNumber, readByStatus, readIssue, toIssue } from './read.js';
import { DEFAULT_TRUST, DEFAULTS, KIND, type RedmineSettings, readRedmineSettings } from './settings.js';
import { redmineTool } from './tool.js';
import { People, type Person, personIn } from './trust.js';
import { changeIssue } from './write.js';

export const redmineTracker: TrackerAdapter = {
  kind: KIND,
  defaults: DEFAULTS,
  create: (options) => new RedmineTracker(readRedmineSettings(options), options),
};

type RedmineTrackerOptions = Pick<TrackerOptions, 'mask' | 'nowMs'> & {
  settings(): Pick<TrackerConfig, 'trust' | 'requiredLabels'>;
};

/** Issues of one Redmine project. Caches account, statuses and members for five minutes, but no issues. */
class RedmineTracker implements Tracker {
  readonly kind = KIND;
  readonly defaults = DEFAULTS;
  readonly scope: string;
  readonly #redmine: RedmineSettings;
  readonly #options: RedmineTrackerOptions;
  readonly #http: TrackerHttp;
  readonly #facts: FactsCache;
  readonly #people: People;

  constructor(redmine: RedmineSettings, options: RedmineTrackerOptions) {
    const { base, scope, token } = redmine;
    this.scope = `${KIND}:${base.host}${base.pathname.replace(/\/$/, '')}/${scope.project}`;
    this.#redmine = redmine;
    this.#options = options;
    this.#http = redmineHttp(redmine, this.#mask);
    this.#facts = new FactsCache(options.nowMs, token.from);
    this.#people = new People(scope.project, options.nowMs);
  }

  get states(): readonly string[] {
    return this.#facts.statuses.map(({ name }) => name);
  }

  async issuesByStates(states: readonly string[], signal: AbortSignal): Promise<IssueBatch> {
    if (states.length === 0) return { issues: [], unknown: [] };
    const reading = this.#http.reading(signal);
    const facts = await this.#facts.read(reading, states);
    const ids = states.flatMap((state) => statusNamed(facts, state)?.id ?? []);
    const unknownStates = states
      .filter((state) => statusNamed(facts, state) === null)
      .map((state) => `"${state}" is not a status of this Redmine. Its statuses are: ${this.states.join(', ')}.`);
    if (ids.length === 0) return { issues: [], unknown: [], problems: unknownStates };
    const records = await readByStatus(reading, this.#redmine.scope, [...new Set(ids)]);
    // A public project stays readable with a revoked key. Its runs would then fail at their first change.
    await this.#facts.verifyKey(reading);
    const toRaw = await this.#converter(records, reading);
    const { issues, problems } = await normaliseList(converted(records, toRaw));
    return { issues, unknown: [], problems: [...unknownStates, ...problems], ...reading.rateLimit };
  }

  async issuesByIds(ids: readonly string[], signal: AbortSignal): Promise<IssueBatch> {
    if (ids.length === 0) return { issues: [], unknown: [] };
    const reading = this.#http.reading(signal);
    await this.#facts.read(reading);
    const numbers = new Set(ids.flatMap((id) => issueNumberOf(id) ?? []));
    const found = await readByNumber(reading, this.#redmine.scope, [...numbers]);
    if (found.size < numbers.size) await this.#facts.verifyKey(reading);
    const records = [...found.values()];
    const toRaw = await this.#converter(records, reading);
    return { issues: records.map((record) => normaliseIssue(toRaw(record))), unknown: [], ...reading.rateLimit };
  }

  async readComments(issue: Issue, signal: AbortSignal): Promise<readonly Comment[]> {
    const number = issueNumberOf(issue.id);
    if (number === null) return [];
    const reading = this.#http.reading(signal);
    const notes = notesIn(await readIssue(reading, number, 'journals')).filter(({ isPrivate }) => !isPrivate);
    const people = notes.map(({ person }) => person);
    const isTrusted = await this.#people.trustCheck(people, this.#trust, reading);
    const written = notes.map(({ person, text, createdAt }) => ({
      ...{ login: person.name, isMember: isTrusted(person) },
      ...{ body: text, created_at: createdAt },
    }));
    return trustedComments(written, 'members');
  }

  update(issueId: string, change: IssueChange, signal: AbortSignal): Promise<IssueUpdate> {
    const reading = this.#http.reading(signal);
    return changeIssue(issueId, change, {
      ...{ reading, scope: this.#redmine.scope, facts: this.#facts },
      mask: this.#mask,
    });
  }

  tools(): readonly HostTool[] {
    const { scope, rawTool } = this.#redmine;
    if (rawTool === 'off') return [];
    const reading = (signal: AbortSignal) => this.#http.reading(signal);
    return [redmineTool({ scope, isReadOnly: rawTool === 'read_only', mask: this.#mask, reading })];
  }

  inspect(signal: AbortSignal): Promise<TrackerFacts> {
    const { requiredLabels } = this.#options.settings();
    return inspectRedmine(this.#http.reading(signal), this.#facts, this.#redmine, requiredLabels);
  }

  async close(): Promise<void> {
    this.#http.close();
  }

  /** Read each time: the setting may change while the tracker lives. */
  get #trust(): Trust {
    return this.#options.settings().trust ?? DEFAULT_TRUST;
  }

  /** Redmine echoes the key in its answers. */
  readonly #mask = (text: string): string => this.#options.mask(text).replaceAll(this.#redmine.token.value, '[secret]');

  /** Reads everything that the records refer to. The returned function converts them without further requests. */
  async #converter(records: readonly Fields[], reading: HttpReading): Promise<(record: Fields) => RawIssue> {
    const { base, labelFields, assignee } = this.#redmine;
    const names = new Set(foundIn(records, (record) => textOf(fieldsOf(fieldsOf(record).status).name)));
    const { account } = await this.#facts.read(reading, [...names]);
    const authors = records.map(({ author }) => personIn(author));
    const assignees = records.map(({ assigned_to: to }) => personIn(to));
    const context = {
      site: base.href.replace(/\/$/, ''),
      labelFields: new Set(labelFields.map((name) => name.toLowerCase())),
      isTrusted: await this.#people.trustCheck(authors, this.#trust, reading),
      assigneeReason: await assigneeCheck(assignee, assignees, { account, people: this.#people, reading }),
      blockersOf: await readBlockers(records, reading),
      isTrustList: typeof this.#trust !== 'string',
    };
    return (record) => toIssue(record, context);
  }
}

/** A generator, so that `normaliseList` can yield to other work between records. */
function* converted(records: readonly Fields[], toRaw: (record: Fields) => RawIssue): Generator<RawIssue> {
  for (const record of records) yield toRaw(record);
}

/** The returned function gives the reason why an issue is not ours, continuing "it …", or null. */
async function assigneeCheck(
  wanted: string | null,
  assignees: readonly Person[],
  { account, people, reading }: { readonly account: Account; readonly people: People; readonly reading: HttpReading },
): Promise<(assignee: Person) => string | null> {
  if (wanted === null) return () => null;
  const ownNames = [account.login, String(account.id), 'me'].map((name) => name.toLowerCase());
  const isOwnAccount = ownNames.includes(wanted.toLowerCase());
  const accepted = new Set<number>();
  for (const id of new Set(assignees.flatMap((person) => person.id ?? []))) {
    if (isOwnAccount ? id === account.id : await people.isOneOf(id, [wanted], reading)) accepted.add(id);
  }
  return ({ id, name }) => {
    if (id !== null && accepted.has(id)) return null;
    const actual = id === null ? 'nobody' : (name ?? `user ${id}`);
    return `is assigned to ${actual}, not to ${isOwnAccount ? account.login : wanted}`;
  };
}

/** Checks key, project and labels by asking Redmine. */
async function inspectRedmine(
  reading: HttpReading,
  cache: FactsCache,
  { base, scope, token }: RedmineSettings,
  requiredLabels: readonly string[],
): Promise<TrackerFacts> {
  const { account, statuses } = await cache.read(reading);
  const project = await readProject(reading, scope.project, account, token.from);
  // Fails when the issue module is off or a right is missing.
  await readByNumber(reading, scope, [1]);
  const admin = `The key belongs to ${account.login}, an administrator, who can change every project. Use an account that is a member of this project only.`;
  const closed = `The project "${scope.project}" is closed: its issues can be read, but not changed. Reopen it.`;
  return {
    user: account.login,
    target: `project ${project.name} (${scope.project}${scope.withSubprojects ? ' and its subprojects' : ''}) at ${base.host}`,
    states: statuses.map(({ name }) => name),
    warnings: [
      ...(account.isAdmin ? [admin] : []),
      ...(project.isClosed ? [closed] : []),
      ...(await labelWarnings(reading, scope.project, requiredLabels)),
    ],
  };
}

const CLOSED = 5;

async function readProject(reading: HttpReading, id: string, account: Account, tokenFrom: string) {
  const path = `/projects/${encodeURIComponent(id)}.json`;
  const { body, status } = await reading.get(path, { accept: [403, 404] });
  if (status === 404) {
    const message = `Redmine has no project "${id}". Write its identifier, as in the address of its page, into tracker.provider.project.`;
    throw new BatonError('invalid_tracker_config', message);
  }
  if (status === 403) {
    const message = `Redmine does not show the project "${id}" to ${account.login}, whose key is in ${tokenFrom} (403). Make ${account.login} a member of it, or fix tracker.provider.project. The project may also be archived.`;
    throw new BatonError('tracker_auth', message, { status });
  }
  const project = fieldsOf(fieldsOf(body).project);
  const name = textOf(project.name);
  if (name === null) throw invalidAnswer(path, 'without the project');
  return { name, isClosed: project.status === CLOSED };
}

/** Compares the labels with categories and trackers. The API does not list the values of list fields. */
async function labelWarnings(
  reading: HttpReading,
  project: string,
  requiredLabels: readonly string[],
): Promise<readonly string[]> {
  if (requiredLabels.length === 0) return [];
  const lists = [
    [`/projects/${encodeURIComponent(project)}/issue_categories.json`, 'issue_categories'],
    ['/trackers.json', 'trackers'],
  ] as const;
  const names = new Set<string>();
  for (const [path, key] of lists) {
    const { body, status } = await reading.get(path, { accept: [403, 404] });
    // The account may not see the list, so nothing is known about the labels.
    if (status !== 200) return [];
    for (const each of listOf(fieldsOf(body)[key])) names.add(textOf(fieldsOf(each).name)?.trim().toLowerCase() ?? '');
  }
  return requiredLabels
    .filter((label) => !names.has(label))
    .map(
      (label) =>
        `The project "${project}" has no category "${label}", which tracker.required_labels names. Make one in the project's settings, unless it is a value of a list field.`,
    );
}
