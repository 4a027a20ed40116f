import { performance } from 'node:perf_hooks';
import type { TrackerConfig } from '../../domain/config.js';
import { BatonError } from '../../domain/errors.js';
import { type Issue, stateKey } from '../../domain/issue.js';
import { type Fields, type JsonObject, textOf } from '../../domain/json.js';
import type { HostTool, IssueBatch, IssueChange, IssueUpdate, Tracker, TrackerFacts } from '../../domain/ports.js';
import type { TrackerEntry } from '../registry.js';
import { afterComment } from '../update-issue.js';
import { cannot, errorOf, ProgramTalk } from './program.js';
import {
  commentsOf,
  type Description,
  descriptionIn,
  issuesInStates,
  issuesWithIds,
  type ProgramError,
  type Question,
  type ReadPlace,
} from './protocol.js';
import { commandSettings, DEFAULTS, KIND } from './settings.js';

interface CommandTrackerOptions {
  readonly talk: ProgramTalk;
  readonly scope: string;
  /** The variables of the daemon that the program is given. */
  readonly variables: readonly string[];
  settings(): Pick<TrackerConfig, 'trust'>;
  mask(text: string): string;
}

interface FindRequest {
  readonly ids: readonly string[];
  readonly isUrgent?: boolean;
}

/** Issues that a program of the operator's tells of: docs/trackers.md has the protocol. */
class CommandTracker implements Tracker {
  readonly kind = KIND;
  readonly defaults = DEFAULTS;
  readonly scope: string;
  readonly #options: CommandTrackerOptions;
  readonly #book = new DescriptionBook((signal) => this.#describe(signal));

  constructor(options: CommandTrackerOptions) {
    this.#options = options;
    this.scope = options.scope;
  }

  get states(): readonly string[] {
    return this.#book.states;
  }

  get changes(): readonly (keyof IssueChange)[] {
    return [
      ...(this.#book.lacks('move') ? [] : ['state' as const]),
      ...(this.#book.lacks('comment') ? [] : ['comment' as const]),
    ];
  }

  async issuesByStates(states: readonly string[], signal: AbortSignal): Promise<IssueBatch> {
    if (states.length === 0) return { issues: [], unknown: [] };
    const wanted = [...new Map(states.map((state) => [stateKey(state), state.trim()])).values()];
    const result = await this.#ask({ method: 'issues_by_states', params: { states: wanted } }, signal);
    return this.#told(await issuesInStates(result, wanted, this.#place()), signal);
  }

  async issuesByIds(ids: readonly string[], signal: AbortSignal): Promise<IssueBatch> {
    if (ids.length === 0) return { issues: [], unknown: [] };
    return this.#told(await this.#find({ ids: [...new Set(ids)] }, signal), signal);
  }

  /** A program that has no `comments` may have sent them with the issue. */
  async readComments(issue: Issue, signal: AbortSignal): Promise<Issue['comments']> {
    if (this.#book.lacks('comments')) return issue.comments;
    const question: Question = { method: 'comments', params: { issue_id: issue.id } };
    const result = await this.#askOptional(question, signal);
    return result === null ? issue.comments : commentsOf(result, this.#place().trust);
  }

  async update(issueId: string, { state, comment }: IssueChange, signal: AbortSignal): Promise<IssueUpdate> {
    if (!this.#book.wasAsked) await this.#book.refresh(signal);
    const target = state === undefined ? null : this.#spelling(state);
    const missing = [...(comment === undefined ? [] : ['comment']), ...(target === null ? [] : ['move'])].find(
      (method) => this.#book.lacks(method),
    );
    if (missing !== undefined) throw new BatonError('tracker_refused', cannot(missing));
    // Looked up before anything is written: an error after it would make an agent write it again.
    const now = target ?? (await this.#stateOf(issueId, signal));
    if (comment !== undefined) await this.#change('comment', { issue_id: issueId, body: comment }, signal);
    if (target === null) return { state: now };
    const move = () => this.#change('move', { issue_id: issueId, state: target }, signal);
    const moved = await afterComment(comment, move);
    return { state: textOf(moved.state) ?? target };
  }

  tools(): readonly HostTool[] {
    return [];
  }

  async inspect(signal: AbortSignal): Promise<TrackerFacts> {
    const told = await this.#book.now(signal);
    const states = told?.states ?? [];
    const unchecked =
      'The tracker program does not tell its states with `describe`: nobody can check those of WORKFLOW.md.';
    const warnings = states.length === 0 ? [unchecked] : [];
    return { user: told?.user ?? null, target: told?.target ?? this.scope, states, warnings };
  }

  close(): Promise<void> {
    return this.#options.talk.close();
  }

  #change(method: 'comment' | 'move', params: JsonObject, signal: AbortSignal): Promise<Fields> {
    return this.#ask({ method, params, isUrgent: true }, signal);
  }

  async #find({ ids, isUrgent = false }: FindRequest, signal: AbortSignal): Promise<IssueBatch> {
    const result = await this.#ask({ method: 'issues_by_ids', params: { ids }, isUrgent }, signal);
    return issuesWithIds(result, ids, this.#place());
  }

  async #told(batch: IssueBatch, signal: AbortSignal): Promise<IssueBatch> {
    this.#book.note(batch.issues);
    await this.#book.refresh(signal);
    return { ...batch, problems: [...(batch.problems ?? []), ...this.#book.problems] };
  }

  async #stateOf(issueId: string, signal: AbortSignal): Promise<string> {
    const { issues, unknown } = await this.#find({ ids: [issueId], isUrgent: true }, signal);
    const found = issues.find(({ id }) => id === issueId) ?? issues[0];
    if (found) return found.state;
    if (unknown.length === 0)
      throw new BatonError('tracker_refused', `${issueId} cannot be changed: it does not exist any more.`);
    const message = `The tracker program cannot tell now whether ${issueId} exists, so nothing was written. Try again later.`;
    throw new BatonError('tracker_request', message);
  }

  /** As the tracker spells it, where it is known. */
  #spelling(state: string): string {
    const { states } = this.#book;
    const found = states.find((each) => stateKey(each) === stateKey(state));
    if (found !== undefined || states.length === 0) return found ?? state.trim();
    throw new BatonError(
      'tracker_refused',
      `"${state}" is no state of this tracker. Use one of: ${states.join(', ')}.`,
    );
  }

  async #describe(signal: AbortSignal): Promise<Description | null> {
    const result = await this.#askOptional({ method: 'describe', params: {}, isUrgent: true }, signal);
    return result === null ? null : descriptionIn(result);
  }

  async #ask(question: Question, signal: AbortSignal): Promise<Fields> {
    const answer = await this.#options.talk.ask(question, signal);
    if (answer.kind === 'result') return answer.result;
    throw this.#errorOf(answer.error, question);
  }

  /** `null`: the program does not know the question. */
  async #askOptional(question: Question, signal: AbortSignal): Promise<Fields | null> {
    const answer = await this.#options.talk.ask(question, signal);
    if (answer.kind === 'result') return answer.result;
    if (answer.error.code === 'unsupported') return null;
    throw this.#errorOf(answer.error, question);
  }

  #errorOf(error: ProgramError, question: Question): BatonError {
    const { variables, mask } = this.#options;
    return errorOf(error, question, { variables, mask, nowMs: Date.now() });
  }

  #place(): ReadPlace {
    return { trust: this.#options.settings().trust, mask: this.#options.mask };
  }
}

/** Boards get new states now and then. */
const FRESH_MS = 15 * 60_000;
/** A state that nobody told of is worth another question, but not with every poll. */
const RETRY_MS = 60_000;
/** Well below what a read may take: who asks for issues need not have them late for this. */
const LIMIT_MS = 20_000;

/**
 * What the program told about itself with `describe`. Asked with the first read, then now and then; never again where it does not know
 * the question. A failure is no failure of the read: it stands among its problems until the next try.
 */
export class DescriptionBook {
  #description: Description | null = null;
  #problem: string | null = null;
  #isUnsupported = false;
  #askedAtMs = Number.NEGATIVE_INFINITY;
  #hasStranger = false;
  #asking: Promise<void> | null = null;

  /** `ask`: `null` where the program does not know the question. Throws `BatonError`. */
  constructor(
    private readonly ask: (signal: AbortSignal) => Promise<Description | null>,
    private readonly limitMs = LIMIT_MS,
  ) {}

  get states(): readonly string[] {
    return this.#description?.states ?? [];
  }

  get problems(): readonly string[] {
    return this.#problem === null ? [] : [this.#problem];
  }

  get wasAsked(): boolean {
    return Number.isFinite(this.#askedAtMs);
  }

  /** Whether it said that it does not have this method. */
  lacks(method: string): boolean {
    const methods = this.#description?.methods ?? null;
    return methods !== null && !methods.includes(method);
  }

  note(issues: readonly Issue[]): void {
    const known = new Set(this.states.map(stateKey));
    this.#hasStranger = known.size > 0 && issues.some(({ state }) => !known.has(stateKey(state)));
  }

  /** Throws only what is no error of the tracker. */
  async refresh(signal: AbortSignal): Promise<void> {
    const ageMs = performance.now() - this.#askedAtMs;
    const limitMs = this.#hasStranger || this.#problem !== null ? RETRY_MS : FRESH_MS;
    if (this.#isUnsupported || ageMs < limitMs) return this.#asking ?? undefined;
    this.#askedAtMs = performance.now();
    this.#asking = this.#look(signal).finally(() => {
      this.#asking = null;
    });
    return this.#asking;
  }

  /** Asks now. Throws `BatonError`. */
  async now(signal: AbortSignal): Promise<Description | null> {
    const told = await this.ask(signal);
    this.#askedAtMs = performance.now();
    this.#isUnsupported = told === null;
    this.#description = told;
    this.#problem = null;
    return told;
  }

  async #look(signal: AbortSignal): Promise<void> {
    try {
      await this.now(AbortSignal.any([signal, AbortSignal.timeout(this.limitMs)]));
    } catch (error) {
      if (!(error instanceof BatonError)) throw error;
      // Given up by who asked for something else: that says nothing about the program.
      if (signal.aborted) this.#askedAtMs = Number.NEGATIVE_INFINITY;
      else this.#problem = `The states of the tracker are not known: ${error.message}`;
    }
  }
}

/** For everyone whose tracker Baton does not know: a program that answers questions about it. */
export const commandTracker: TrackerEntry = {
  kind: KIND,
  defaults: DEFAULTS,
  create(options) {
    const { command, env, variables, timeoutMs, scope } = commandSettings(options);
    const mask = (text: string) => options.mask(text);
    const talk = new ProgramTalk({ start: () => options.start({ script: command, env }), timeoutMs, mask });
    return new CommandTracker({ talk, scope, variables, settings: () => options.settings(), mask });
  },
};
