import type { TrackerConfig } from '../../domain/config.js';
import { BatonError } from '../../domain/errors.js';
import { type Fields, textOf } from '../../domain/fields.js';
import { type Issue, stateKey } from '../../domain/issue.js';
import type { JsonObject } from '../../domain/json.js';
import type { HostTool, IssueBatch, IssueChange, IssueUpdate, Tracker, TrackerFacts } from '../../domain/ports.js';
import { afterComment } from '../after-comment.js';
import type { ProgramError } from './answer.js';
import type { Question } from './protocol.js';
import { DescriptionBook } from './description-book.js';
import { cannot, errorOf } from './program-error.js';
import type { ProgramTalk } from './program.js';
import {
  commentsOf,
  type Description,
  descriptionIn,
  issuesInStates,
  issuesWithIds,
  type ReadPlace,
} from './read-result.js';
import { DEFAULTS, KIND } from './settings.js';

export interface CommandTrackerOptions {
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
export class CommandTracker implements Tracker {
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
