import type { TrackerConfig } from '../../domain/config.js';
import { BatonError } from '../../domain/errors.js';
import { type Issue, stateKey } from '../../domain/issue.js';
import { type Fields, type JsonObject, textOf } from '../../domain/json.js';
import type { HostTool, IssueBatch, IssueChange, IssueUpdate, Tracker, TrackerFacts } from '../../domain/ports.js';
import type { TrackerAdapter } from '../registry.js';
import { afterComment } from '../update-issue.js';
import { DescribeCache } from './describe-cache.js';
import { errorFrom, type ProgramError, type ProgramRequest, unsupportedChange } from './protocol.js';
import {
  commentsOf,
  type Description,
  descriptionIn,
  issuesInStates,
  issuesWithIds,
  type ReadContext,
} from './read.js';
import { RequestQueue } from './request-queue.js';
import { DEFAULTS, KIND, readCommandSettings } from './settings.js';

/** For trackers that Baton does not know: the user's program answers for its tracker. */
export const commandTracker: TrackerAdapter = {
  kind: KIND,
  defaults: DEFAULTS,
  create(options) {
    const { command, env, variables, timeoutMs, scope } = readCommandSettings(options);
    const mask = (text: string) => options.mask(text);
    const queue = new RequestQueue({ start: () => options.start({ script: command, env }), timeoutMs, mask });
    return new CommandTracker({ queue, scope, variables, settings: () => options.settings(), mask });
  },
};

interface CommandTrackerOptions {
  readonly queue: RequestQueue;
  readonly scope: string;
  /** The daemon's variables that the program is given. */
  readonly variables: readonly string[];
  settings(): Pick<TrackerConfig, 'trust'>;
  mask(text: string): string;
}

/** Issues that a program reports by the protocol in docs/trackers.md. */
class CommandTracker implements Tracker {
  readonly kind = KIND;
  readonly defaults = DEFAULTS;
  readonly scope: string;
  readonly #options: CommandTrackerOptions;
  readonly #description = new DescribeCache((signal) => this.#describe(signal));

  constructor(options: CommandTrackerOptions) {
    this.#options = options;
    this.scope = options.scope;
  }

  get states(): readonly string[] {
    return this.#description.states;
  }

  get changes(): readonly (keyof IssueChange)[] {
    return [
      ...(this.#description.lacks('move') ? [] : ['state' as const]),
      ...(this.#description.lacks('comment') ? [] : ['comment' as const]),
    ];
  }

  async issuesByStates(states: readonly string[], signal: AbortSignal): Promise<IssueBatch> {
    if (states.length === 0) return { issues: [], unknown: [] };
    const wanted = [...new Map(states.map((state) => [stateKey(state), state.trim()])).values()];
    const result = await this.#send({ method: 'issues_by_states', params: { states: wanted } }, signal);
    return this.#withDescription(await issuesInStates(result, wanted, this.#readContext()), signal);
  }

  async issuesByIds(ids: readonly string[], signal: AbortSignal): Promise<IssueBatch> {
    if (ids.length === 0) return { issues: [], unknown: [] };
    return this.#withDescription(await this.#readByIds([...new Set(ids)], signal), signal);
  }

  /** A program without `comments` may have sent them with the issue. */
  async readComments(issue: Issue, signal: AbortSignal): Promise<Issue['comments']> {
    if (this.#description.lacks('comments')) return issue.comments;
    const result = await this.#sendOptional({ method: 'comments', params: { issue_id: issue.id } }, signal);
    return result === null ? issue.comments : commentsOf(result, this.#readContext().trust);
  }

  async update(issueId: string, { state, comment }: IssueChange, signal: AbortSignal): Promise<IssueUpdate> {
    if (!this.#description.wasAsked) await this.#description.refresh(signal);
    const target = state === undefined ? null : this.#spelling(state);
    const missing = [...(comment === undefined ? [] : ['comment']), ...(target === null ? [] : ['move'])].find(
      (method) => this.#description.lacks(method),
    );
    if (missing !== undefined) throw new BatonError('tracker_refused', unsupportedChange(missing));
    // Read before the comment: an error after it would make the agent comment again.
    const current = target ?? (await this.#readState(issueId, signal));
    if (comment !== undefined) await this.#change('comment', { issue_id: issueId, body: comment }, signal);
    if (target === null) return { state: current };
    const move = () => this.#change('move', { issue_id: issueId, state: target }, signal);
    const moved = await afterComment(comment, move);
    return { state: textOf(moved.state) ?? target };
  }

  tools(): readonly HostTool[] {
    return [];
  }

  async inspect(signal: AbortSignal): Promise<TrackerFacts> {
    const description = await this.#description.reload(signal);
    const states = description?.states ?? [];
    const unchecked =
      'The tracker program does not list its states with `describe`: the states of WORKFLOW.md cannot be checked.';
    const warnings = states.length === 0 ? [unchecked] : [];
    return { user: description?.user ?? null, target: description?.target ?? this.scope, states, warnings };
  }

  close(): Promise<void> {
    return this.#options.queue.close();
  }

  async #readByIds(ids: readonly string[], signal: AbortSignal, isUrgent = false): Promise<IssueBatch> {
    const result = await this.#send({ method: 'issues_by_ids', params: { ids }, isUrgent }, signal);
    return issuesWithIds(result, ids, this.#readContext());
  }

  async #withDescription(batch: IssueBatch, signal: AbortSignal): Promise<IssueBatch> {
    this.#description.noteStates(batch.issues);
    await this.#description.refresh(signal);
    return { ...batch, problems: [...(batch.problems ?? []), ...this.#description.problems] };
  }

  async #readState(issueId: string, signal: AbortSignal): Promise<string> {
    const { issues, unknown } = await this.#readByIds([issueId], signal, true);
    const issue = issues.find(({ id }) => id === issueId) ?? issues[0];
    if (issue) return issue.state;
    if (unknown.length === 0)
      throw new BatonError('tracker_refused', `${issueId} cannot be changed: it does not exist any more.`);
    const message = `The tracker program cannot say at the moment whether ${issueId} exists, so nothing was written. Try again later.`;
    throw new BatonError('tracker_request', message);
  }

  /** The tracker's own spelling of a state, when the program lists its states. */
  #spelling(state: string): string {
    const { states } = this.#description;
    const spelling = states.find((each) => stateKey(each) === stateKey(state));
    if (spelling !== undefined || states.length === 0) return spelling ?? state.trim();
    const message = `"${state}" is not a state of this tracker. Use one of: ${states.join(', ')}.`;
    throw new BatonError('tracker_refused', message);
  }

  async #describe(signal: AbortSignal): Promise<Description | null> {
    const result = await this.#sendOptional({ method: 'describe', params: {}, isUrgent: true }, signal);
    return result === null ? null : descriptionIn(result);
  }

  #change(method: 'comment' | 'move', params: JsonObject, signal: AbortSignal): Promise<Fields> {
    return this.#send({ method, params, isUrgent: true }, signal);
  }

  async #send(request: ProgramRequest, signal: AbortSignal): Promise<Fields> {
    const reply = await this.#options.queue.send(request, signal);
    if (reply.kind === 'result') return reply.result;
    throw this.#errorFrom(reply.error, request);
  }

  /** Returns null when the program does not know the method. */
  async #sendOptional(request: ProgramRequest, signal: AbortSignal): Promise<Fields | null> {
    const reply = await this.#options.queue.send(request, signal);
    if (reply.kind === 'result') return reply.result;
    if (reply.error.code === 'unsupported') return null;
    throw this.#errorFrom(reply.error, request);
  }

  #errorFrom(error: ProgramError, request: ProgramRequest): BatonError {
    const { variables, mask } = this.#options;
    return errorFrom(error, request, { variables, mask, nowMs: Date.now() });
  }

  #readContext(): ReadContext {
    return { trust: this.#options.settings().trust, mask: this.#options.mask };
  }
}
