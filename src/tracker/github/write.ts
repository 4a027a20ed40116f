import { BatonError } from '../../domain/errors.js';
import { fieldsOf } from '../../domain/json.js';
import type { IssueChange, IssueUpdate } from '../../domain/ports.js';
import type { HttpReading, HttpRequest } from '../http/tracker-http.js';
import type { LabelStates } from '../label-states.js';
import { afterComment } from '../update-issue.js';
import type { GithubApi } from './api.js';
import type { GithubIssue } from './issue.js';
import { CLOSED, identifierOf, numberOf } from './issue.js';
import { readOne } from './read.js';

interface ChangeOrder {
  readonly api: GithubApi;
  readonly reading: HttpReading;
  readonly states: LabelStates;
}

/** Comments first: a move may end the run that wanted to say something. */
export async function changeIssue(issueId: string, change: IssueChange, order: ChangeOrder): Promise<IssueUpdate> {
  const { states } = order;
  const number = numberOf(issueId);
  const target = change.state === undefined ? null : states.named(change.state);
  if (change.state !== undefined && target === null) throw unknownState(change.state, order);
  const issue = number === null ? null : await readOne(number, order);
  if (number === null || issue === null || issue.isPullRequest) {
    const why = issue === null ? 'it is not there any more' : 'it is a pull request';
    throw new BatonError('tracker_refused', `${issueId} cannot be changed in ${order.api.fullName}: ${why}.`);
  }
  const { isOpen } = issue;
  if (isOpen === null) {
    const message = `${identifierOf(number)} came from GitHub without state. Check tracker.provider.endpoint.`;
    throw new BatonError('tracker_response', message);
  }
  const changing = new IssueChanging(number, issue, order);
  if (change.comment !== undefined) await changing.comment(change.comment);
  if (target !== null) await afterComment(change.comment, () => changing.moveTo(target, isOpen));
  return { state: target ?? states.of(isOpen, issue.labels).state };
}

/** What GitHub will not do of a change is for the agent to hear; all else is for the operator. */
const REFUSALS = [400, 404, 405, 409, 410, 422];

class IssueChanging {
  constructor(
    private readonly number: number,
    private readonly issue: GithubIssue,
    private readonly order: ChangeOrder,
  ) {}

  async comment(body: string): Promise<void> {
    await this.#send({ method: 'POST', path: this.#path('comments'), body: { body } });
  }

  /**
   * Labels are put on and taken off one by one, so that nobody else's are lost. The order lets the issue change its state once: while it is closed its labels say
   * nothing, and while it is open a new label comes before the old one goes.
   */
  async moveTo(target: string, isOpen: boolean): Promise<void> {
    const { states } = this.order;
    const label = states.labelOf(target);
    const carried = states.among(this.issue.labels);
    const isCarried = label !== null && carried.some((each) => isSame(each, label));
    if (target === CLOSED && isOpen) await this.#set('closed', { state_reason: 'completed' });
    if (label !== null && !isCarried)
      await this.#send({ method: 'POST', path: this.#path('labels'), body: { labels: [label] } });
    for (const old of carried) {
      if (label === null || !isSame(old, label))
        await this.#send({ method: 'DELETE', path: this.#path('labels', old), accept: [404] });
    }
    if (target !== CLOSED && !isOpen) await this.#set('open', {});
  }

  async #set(state: 'open' | 'closed', more: { readonly [key: string]: string }): Promise<void> {
    const { body } = await this.#send({ method: 'PATCH', path: this.#path(), body: { state, ...more } });
    if (fieldsOf(body).state === state) return;
    throw this.#refused(`GitHub did not make it ${state}, and does not say why`);
  }

  async #send(request: HttpRequest) {
    try {
      return await this.order.reading.ask(request);
    } catch (error) {
      if (!(error instanceof BatonError)) throw error;
      const { status } = error.details;
      if (status === 403 && this.issue.isLocked && error.code === 'tracker_auth')
        throw this.#refused('it is locked, and the token is none of a member', error);
      if (error.code === 'tracker_status' && REFUSALS.includes(Number(status)))
        throw this.#refused(error.message.replace(/\.$/, ''), error);
      throw error;
    }
  }

  #path(...segments: readonly string[]): string {
    return this.order.api.repoPath('issues', this.number, ...segments);
  }

  #refused(why: string, cause?: BatonError): BatonError {
    const message = `${identifierOf(this.number)} cannot be changed like that: ${why}.`;
    return new BatonError('tracker_refused', message, {}, { cause });
  }
}

function isSame(one: string, other: string): boolean {
  return one.trim().toLowerCase() === other.trim().toLowerCase();
}

function unknownState(state: string, { api, states }: ChangeOrder): BatonError {
  const message = `"${state}" is no state of ${api.fullName}. Use one of: ${states.names.join(', ')}.`;
  return new BatonError('tracker_refused', message);
}
