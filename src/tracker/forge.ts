import type { TrackerConfig, Trust } from '../domain/config.js';
import { BatonError } from '../domain/errors.js';
import type { Comment, Issue } from '../domain/issue.js';
import type { HostTool, IssueBatch, IssueChange, IssueUpdate, Tracker, TrackerFacts } from '../domain/ports.js';
import type { ForgeIssue, IssueNumbers, Mapping } from './forge-issue.js';
import type { HttpAnswer, HttpReading, HttpRequest } from './http/tracker-http.js';
import { type LabelStates, missingLabels } from './label-states.js';
import type { RawToolMode } from './provider-settings.js';
import { MAX_ANSWER_BYTES, type RawResult } from './raw-tool.js';
import { afterComment } from './update-issue.js';

export interface ForgeOptions {
  readonly kind: string;
  readonly defaults: Tracker['defaults'];
  readonly scope: string;
  /** "GitHub" */
  readonly name: string;
  /** The repository or project as configured. */
  readonly target: string;
  readonly numbers: IssueNumbers;
  readonly states: LabelStates;
  /** A login, or `me`. */
  readonly assignee: string | null;
  readonly rawTool: RawToolMode;
  /** Labels and trust may change while the tracker lives. */
  settings(): TrackerConfig;
}

/** One read of issues. */
export interface ReadOrder {
  readonly reading: HttpReading;
  readonly mapping: Mapping;
  readonly trust: Trust;
  readonly requiredLabels: readonly string[];
}

/** The repository or project, for `inspect`. */
export interface ForgeFacts {
  readonly fullName: string;
  readonly hasIssues: boolean;
  readonly isArchived: boolean;
  /** A right that the token lacks, as a sentence; `null`: none. */
  readonly missingRight: string | null;
}

/** Strangers can write issues on a forge, so that only those who can change issues of others are trusted by default. */
const DEFAULT_TRUST: Trust = 'members';
const NO_ISSUES: IssueBatch = { issues: [], unknown: [] };

/** The tracker that GitHub and GitLab share; subclasses send the requests. Between reads it remembers the login of the token. */
export abstract class ForgeTracker implements Tracker {
  readonly kind: string;
  readonly defaults: Tracker['defaults'];
  readonly scope: string;
  #ownLogin: string | null = null;

  constructor(protected readonly options: ForgeOptions) {
    this.kind = options.kind;
    this.defaults = options.defaults;
    this.scope = options.scope;
  }

  get states(): readonly string[] {
    return this.options.states.names;
  }

  async issuesByStates(states: readonly string[], signal: AbortSignal): Promise<IssueBatch> {
    const { states: all, target } = this.options;
    const known = new Set(states.flatMap((state) => all.named(state) ?? []));
    const problems = states
      .filter((state) => all.named(state) === null)
      .map((state) => `"${state}" is no state of ${target}, whose states are: ${all.names.join(', ')}.`);
    if (known.size === 0) return { ...NO_ISSUES, problems };
    const reading = this.reading(signal);
    await this.admit(reading);
    const batch = await this.readByStates([...known], await this.#order(reading));
    return { ...batch, problems: [...problems, ...(batch.problems ?? [])] };
  }

  async issuesByIds(ids: readonly string[], signal: AbortSignal): Promise<IssueBatch> {
    const numbers = new Set(ids.flatMap((id) => this.options.numbers.numberOf(id) ?? []));
    if (numbers.size === 0) return NO_ISSUES;
    return this.readByNumbers([...numbers], await this.#order(this.reading(signal)));
  }

  async readComments(issue: Issue, signal: AbortSignal): Promise<readonly Comment[]> {
    const number = this.options.numbers.numberOf(issue.id);
    return number === null ? [] : this.readNewestComments(number, this.reading(signal), this.#trust());
  }

  /** Comments first: a move may end the run that commented. */
  async update(issueId: string, change: IssueChange, signal: AbortSignal): Promise<IssueUpdate> {
    const { name, target, numbers, states } = this.options;
    const state = change.state === undefined ? null : states.named(change.state);
    if (change.state !== undefined && state === null) {
      const message = `"${change.state}" is no state of ${target}. Use one of: ${states.names.join(', ')}.`;
      throw new BatonError('tracker_refused', message);
    }
    const reading = this.reading(signal);
    const number = numbers.numberOf(issueId);
    const issue = number === null ? null : await this.readIssue(number, reading);
    if (number === null || issue === null) {
      const message = `${issueId} cannot be changed in ${target}: there is no such issue, or the token may not see it.`;
      throw new BatonError('tracker_refused', message);
    }
    const now = stateOf(issue, states);
    if (now === null) {
      const message = `${numbers.identifierOf(number)} came from ${name} without state. Check tracker.provider.endpoint.`;
      throw new BatonError('tracker_response', message);
    }
    const writer = new IssueWriter(issue, numbers.identifierOf(number), reading);
    if (change.comment !== undefined) await this.writeComment(number, change.comment, writer);
    if (state !== null) await afterComment(change.comment, () => this.move(number, state, writer));
    return { state: state ?? now };
  }

  tools(): readonly HostTool[] {
    const { numbers, rawTool, states } = this.options;
    if (rawTool === 'off') return [];
    const stateNow = async (issueId: string, signal: AbortSignal) => {
      const number = numbers.numberOf(issueId);
      const issue = number === null ? null : await this.readIssue(number, this.reading(signal));
      return issue === null ? null : stateOf(issue, states);
    };
    return [this.rawTool(rawTool === 'read_only', stateNow)];
  }

  async inspect(signal: AbortSignal): Promise<TrackerFacts> {
    const { states } = this.options;
    const reading = this.reading(signal);
    const user = await this.readOwnLogin(reading);
    const { fullName, hasIssues, isArchived, missingRight } = await this.readFacts(reading);
    const warnings = [
      ...(hasIssues ? [] : [`Issues are switched off in ${fullName}: switch them on in its settings.`]),
      ...(isArchived ? [`${fullName} is archived: its issues can be read, but not changed.`] : []),
      ...(missingRight === null ? [] : [missingRight]),
      ...(hasIssues ? await this.#missingLabels(reading, fullName) : []),
    ];
    return { user, target: fullName, states: states.names, warnings };
  }

  abstract close(): Promise<void>;

  protected abstract reading(signal: AbortSignal): HttpReading;
  /** Called before issues are listed. Throws `invalid_tracker_config` where they must not be worked on. */
  protected abstract admit(reading: HttpReading): Promise<void>;
  /** `states`: at least one, in the spelling of `LabelStates`. */
  protected abstract readByStates(states: readonly string[], order: ReadOrder): Promise<IssueBatch>;
  protected abstract readByNumbers(numbers: readonly number[], order: ReadOrder): Promise<IssueBatch>;
  /** `null`: there is no such issue, or the token may not see it. */
  protected abstract readIssue(number: number, reading: HttpReading): Promise<ForgeIssue | null>;
  protected abstract readNewestComments(
    number: number,
    reading: HttpReading,
    trust: Trust,
  ): Promise<readonly Comment[]>;
  protected abstract writeComment(number: number, text: string, writer: IssueWriter): Promise<void>;
  /** Moves an issue into a state, without the states between being seen. */
  protected abstract move(number: number, state: string, writer: IssueWriter): Promise<void>;
  /** `null`: the token belongs to an app, or may not read its owner. */
  protected abstract readOwnLogin(reading: HttpReading): Promise<string | null>;
  protected abstract readFacts(reading: HttpReading): Promise<ForgeFacts>;
  protected abstract readLabels(reading: HttpReading): Promise<readonly (string | null)[]>;
  protected abstract rawTool(isReadOnly: boolean, stateOf: StateOf): HostTool;

  async #order(reading: HttpReading): Promise<ReadOrder> {
    const { states, numbers, settings } = this.options;
    return {
      reading,
      mapping: { states, numbers, assignee: await this.#assignee(reading) },
      trust: this.#trust(),
      requiredLabels: settings().requiredLabels,
    };
  }

  #trust(): Trust {
    return this.options.settings().trust ?? DEFAULT_TRUST;
  }

  async #assignee(reading: HttpReading): Promise<string | null> {
    const { assignee, name } = this.options;
    if (assignee?.toLowerCase() !== 'me') return assignee;
    this.#ownLogin ??= await this.readOwnLogin(reading);
    if (this.#ownLogin !== null) return this.#ownLogin;
    const message = `tracker.provider.assignee is "me", and ${name} does not say who owns the token. Write the login to which issues are assigned.`;
    throw new BatonError('invalid_tracker_config', message);
  }

  async #missingLabels(reading: HttpReading, fullName: string): Promise<readonly string[]> {
    const { states, settings } = this.options;
    const { requiredLabels } = settings();
    if (states.labels.length + requiredLabels.length === 0) return [];
    return missingLabels({ states, requiredLabels, existing: await this.readLabels(reading), target: fullName });
  }
}

/** The state of an issue now; `null`: unknown. */
export type StateOf = (issueId: string, signal: AbortSignal) => Promise<string | null>;

/** `null`: neither open nor closed. */
export function stateOf({ isOpen, labels }: ForgeIssue, states: LabelStates): string | null {
  return isOpen === null ? null : states.of(isOpen, labels).state;
}

/** The agent reads these refusals; other failures are for the operator. */
const REFUSALS = [400, 404, 405, 409, 410, 422];

/** Sends the changes of one issue. Throws `tracker_refused` with the reason for the agent. */
export class IssueWriter {
  constructor(
    readonly issue: ForgeIssue,
    private readonly identifier: string,
    readonly reading: HttpReading,
  ) {}

  async send(request: HttpRequest): Promise<HttpAnswer> {
    try {
      return await this.reading.ask(request);
    } catch (error) {
      if (!(error instanceof BatonError)) throw error;
      const { status } = error.details;
      if (status === 403 && this.issue.isLocked && error.code === 'tracker_auth')
        throw this.refused('it is locked, and the token does not belong to a member', error);
      if (error.code === 'tracker_status' && REFUSALS.includes(Number(status)))
        throw this.refused(error.message.replace(/\.$/, ''), error);
      throw error;
    }
  }

  refused(why: string, cause?: BatonError): BatonError {
    const message = `${this.identifier} cannot be changed like that: ${why}.`;
    return new BatonError('tracker_refused', message, {}, { cause });
  }
}

/** Statuses of a raw tool that the agent reads. A redirect is one of them: it would lead out of the repository. */
const TOOL_STATUSES = [301, 302, 303, 307, 308, 400, 404, 405, 409, 410, 412, 415, 422];

/** Sends a call of a raw tool. */
export async function sendRest(
  reading: HttpReading,
  { method, path, body: given }: Required<Pick<HttpRequest, 'method' | 'path' | 'body'>>,
): Promise<RawResult> {
  const { status, body } = await reading.ask({
    ...{ method, path, accept: TOOL_STATUSES, maxBytes: MAX_ANSWER_BYTES },
    ...(given === undefined || given === null ? {} : { body: given }),
  });
  return { ok: status < 300, body, status };
}
