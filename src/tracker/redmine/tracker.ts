import type { TrackerConfig } from '../../domain/config.js';
import { type Fields, fieldsOf, foundIn, textOf } from '../../domain/fields.js';
import type { Comment, Issue } from '../../domain/issue.js';
import type { HostTool, IssueBatch, IssueChange, IssueUpdate, Tracker, TrackerFacts } from '../../domain/ports.js';
import type { HttpReading, TrackerHttp } from '../http/tracker-http.js';
import { normaliseList } from '../normalise-batch.js';
import { normaliseIssue, type RawIssue } from '../normalise-issue.js';
import type { RawToolMode } from '../provider-settings.js';
import { trustedComments } from '../trust.js';
import { heldBackBy } from './assignee.js';
import { readBlockers } from './blockers.js';
import { BoardFacts, statusNamed } from './board-facts.js';
import { changeIssue } from './write.js';
import { inspectRedmine } from './inspect-redmine.js';
import { issueNumberOf } from './issue-number.js';
import { notesIn, readWhole } from './journals.js';
import { People, personIn } from './people.js';
import { issuesByNumber, issuesInStatuses, type Scope } from './read.js';
import { recordToIssue } from './record-to-issue.js';
import { redmineTool } from './tool.js';

export interface RedmineOptions {
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
export class RedmineTracker implements Tracker {
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
