import { BatonError } from '../../domain/errors.js';
import { labelKey } from '../../domain/issue.js';
import { fieldsOf, textOf } from '../../domain/json.js';
import type { IssueChange, IssueUpdate } from '../../domain/ports.js';
import type { HttpReading, HttpRequest } from '../http/tracker-http.js';
import type { LabelStates } from '../label-states.js';
import { afterComment } from '../update-issue.js';
import { type GitlabApi, readList } from './api.js';
import { CLOSED, type GitlabIssue, identifierOf, iidOf, readGitlabIssue } from './issue.js';
import { readOne } from './read.js';

interface ChangeOrder {
  readonly api: GitlabApi;
  readonly reading: HttpReading;
  readonly states: LabelStates;
}

/** Comments first: a move may end the run that wanted to say something. */
export async function changeIssue(issueId: string, change: IssueChange, order: ChangeOrder): Promise<IssueUpdate> {
  const { api, reading, states } = order;
  const iid = iidOf(issueId);
  const target = change.state === undefined ? null : states.named(change.state);
  if (change.state !== undefined && target === null) throw unknownState(change.state, order);
  const issue = iid === null ? null : await readOne(iid, api, reading);
  if (iid === null || issue === null) {
    const message = `${issueId} cannot be changed in ${api.project}: it is not there, or the token may not see it.`;
    throw new BatonError('tracker_refused', message);
  }
  const now = stateOf(issue, states);
  const changing = new IssueChanging(iid, issue, order);
  if (change.comment !== undefined) await changing.comment(change.comment);
  if (target === null) return { state: now };
  return { state: await afterComment(change.comment, () => changing.moveTo(target)) };
}

/** What GitLab will not do of a change is for the agent to hear; all else is for the operator. */
const REFUSALS = [400, 404, 405, 409, 410, 422];

class IssueChanging {
  constructor(
    private readonly iid: number,
    private readonly issue: GitlabIssue,
    private readonly order: ChangeOrder,
  ) {}

  async comment(text: string): Promise<void> {
    const body = withoutQuickActions(text);
    await this.#send({ method: 'POST', path: this.#path('notes'), body: { body } });
  }

  /** In one request, so that nobody sees the issue between two states. A closed issue carries no label of a state. */
  async moveTo(target: string): Promise<string> {
    const { states } = this.order;
    const label = states.labelOf(target);
    const carried = states.among(this.issue.labels);
    const isCarried = label !== null && carried.some((each) => labelKey(each) === labelKey(label));
    const added = label === null || isCarried ? null : await this.#spelling(label);
    const removed = carried.filter((each) => label === null || labelKey(each) !== labelKey(label));
    const event = target === CLOSED ? 'close' : 'reopen';
    const isThere = this.issue.isOpen === (event === 'reopen');
    const body = {
      ...(added === null ? {} : { add_labels: added }),
      ...(removed.length === 0 ? {} : { remove_labels: removed.join(',') }),
      ...(isThere ? {} : { state_event: event }),
    };
    if (Object.keys(body).length === 0) return target;
    const answer = await this.#send({ method: 'PUT', path: this.#path(), body });
    // GitLab leaves out without a word what a role does not allow.
    const now = stateOf(readGitlabIssue(answer.body), states);
    if (now === target) return target;
    throw this.#refused(`GitLab left it in "${now}". The role of the token must be Planner or more`);
  }

  /** Labels that differ in case are two to GitLab: a new one would be made where the old one was meant. */
  async #spelling(label: string): Promise<string> {
    const { api, reading } = this.order;
    const names = await readList(api, reading, {
      segments: ['labels'],
      query: [['search', label]],
      read: (value) => textOf(fieldsOf(value).name),
      idOf: (name) => name,
    });
    const same = names.filter((name) => name !== null && labelKey(name) === labelKey(label));
    return same.find((name) => name === label) ?? same[0] ?? label;
  }

  async #send(request: HttpRequest) {
    try {
      return await this.order.reading.ask(request);
    } catch (error) {
      if (!(error instanceof BatonError)) throw error;
      const { status } = error.details;
      if (status === 403 && this.issue.fields.discussion_locked === true)
        throw this.#refused('its discussion is locked, and the token is none of a member', error);
      if (error.code === 'tracker_status' && REFUSALS.includes(Number(status)))
        throw this.#refused(error.message.replace(/\.$/, ''), error);
      throw error;
    }
  }

  #path(...segments: readonly string[]): string {
    return this.order.api.projectPath('issues', this.iid, ...segments);
  }

  #refused(why: string, cause?: BatonError): BatonError {
    const message = `${identifierOf(this.iid)} cannot be changed like that: ${why}.`;
    return new BatonError('tracker_refused', message, {}, { cause });
  }
}

function stateOf({ isOpen, labels }: GitlabIssue, states: LabelStates): string {
  if (isOpen !== null) return states.of(isOpen, labels).state;
  throw new BatonError('tracker_response', 'An issue came from GitLab without state. Check tracker.provider.endpoint.');
}

function unknownState(state: string, { api, states }: ChangeOrder): BatonError {
  const message = `"${state}" is no state of ${api.project}. Use one of: ${states.names.join(', ')}.`;
  return new BatonError('tracker_refused', message);
}

/** A line such as `/close` or `/move group/other`: in the text of a note or a description GitLab carries it out. */
const COMMAND = /(^|[\n\u0085\u2028\u2029])([^\S\n\u0085\u2028\u2029]*)(\/[a-z0-9_]+(?!\S))/gi;

/** The text without commands: it looks the same, and does nothing. GitLab drops `\r` before it looks, so that none may be left inside of a word. */
export function withoutQuickActions(text: string): string {
  return text.replace(/\r\n?/g, '\n').replace(COMMAND, '$1$2\\$3');
}

/** Whether a text, or any text inside of a value, holds a command. */
export function holdsQuickAction(value: unknown): boolean {
  if (typeof value === 'string') return value.replaceAll('\r', '').search(COMMAND) !== -1;
  if (typeof value !== 'object' || value === null) return false;
  return Object.values(value).some(holdsQuickAction);
}
