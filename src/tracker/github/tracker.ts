import type { Trust } from '../../domain/config.js';
import { BatonError } from '../../domain/errors.js';
import type { Comment } from '../../domain/issue.js';
import { fieldsOf, textOf } from '../../domain/json.js';
import type { HostTool, IssueBatch } from '../../domain/ports.js';
import {
  type ForgeFacts,
  type ForgeOptions,
  ForgeTracker,
  type IssueWriter,
  type ReadOrder,
  type StateOf,
} from '../forge.js';
import type { HttpReading } from '../http/tracker-http.js';
import type { TrackerAdapter } from '../registry.js';
import { GITHUB, GithubApi, Repository } from './api.js';
import { type GithubIssue, loginOf, NUMBERS } from './issue.js';
import { readByNumbers, readByStates, readComments, readList, readOne } from './read.js';
import { DEFAULTS, KIND, readGithubSettings } from './settings.js';
import { githubTool } from './tool.js';
import { EditHistories } from './trust.js';
import { verifyGithubWebhook } from './webhook.js';
import { moveIssue, writeComment } from './write.js';

export const githubTracker: TrackerAdapter = {
  kind: KIND,
  defaults: DEFAULTS,
  verifyWebhook: verifyGithubWebhook,
  create(options) {
    const { repo, endpoint, token, assignee, states, rawTool } = readGithubSettings(options);
    const api = new GithubApi({ endpoint, repo, token, mask: (text) => options.mask(text) });
    const forge: ForgeOptions = {
      ...{ kind: KIND, defaults: DEFAULTS, name: GITHUB, target: api.fullName, numbers: NUMBERS },
      ...{ states, assignee, rawTool },
      scope: `${KIND}:${endpoint.host}/${repo.owner}/${repo.name}`.toLowerCase(),
      settings: () => options.settings(),
    };
    return new GithubTracker(api, forge, options.nowMs);
  },
};

/**
 * The issues of one GitHub repository. Between reads it remembers the answers that GitHub need not send again, who edited which version of an issue, and that the
 * repository may be read from.
 */
class GithubTracker extends ForgeTracker {
  readonly #repository: Repository;
  readonly #histories: EditHistories;

  constructor(
    private readonly api: GithubApi,
    options: ForgeOptions,
    nowMs: () => number,
  ) {
    super(options);
    this.#repository = new Repository(api, nowMs);
    this.#histories = new EditHistories(api);
  }

  async prepare(signal: AbortSignal): Promise<void> {
    await this.#repository.admitNow(this.reading(signal), this.options.settings());
  }

  async close(): Promise<void> {
    this.api.close();
  }

  protected reading(signal: AbortSignal): HttpReading {
    return this.api.reading(signal);
  }

  protected admit(reading: HttpReading): Promise<void> {
    return this.#repository.admit(reading, this.options.settings());
  }

  protected readByStates(states: readonly string[], order: ReadOrder): Promise<IssueBatch> {
    return readByStates(states, this.#githubOrder(order));
  }

  protected readByNumbers(numbers: readonly number[], order: ReadOrder): Promise<IssueBatch> {
    return readByNumbers(numbers, this.#githubOrder(order));
  }

  protected async readIssue(number: number, reading: HttpReading): Promise<GithubIssue | null> {
    const found = await readOne(number, this.api, reading);
    return found?.isWork ? found : null;
  }

  protected readNewestComments(number: number, reading: HttpReading, trust: Trust): Promise<readonly Comment[]> {
    return readComments(number, this.api, reading, trust);
  }

  protected writeComment(number: number, text: string, writer: IssueWriter): Promise<void> {
    return writeComment(number, text, writer, this.api);
  }

  protected move(number: number, state: string, writer: IssueWriter): Promise<void> {
    return moveIssue(number, state, writer, { api: this.api, states: this.options.states });
  }

  protected async readOwnLogin(reading: HttpReading): Promise<string | null> {
    const answer = await reading.get(this.api.path('user')).catch((error: unknown) => {
      if (error instanceof BatonError && error.code === 'tracker_auth' && error.details.status === 403) return null;
      throw error;
    });
    const login = answer === null ? null : loginOf(answer.body);
    if (answer === null || login !== null) return login;
    const message = 'GitHub did not say who owns the token. Check tracker.provider.endpoint.';
    throw new BatonError('tracker_response', message);
  }

  protected async readFacts(reading: HttpReading): Promise<ForgeFacts> {
    const { mayChange, ...facts } = await this.#repository.admitNow(reading, this.options.settings());
    const missingRight = `The token may read the issues of ${facts.fullName}, but not label or close those of others: agents cannot move them.`;
    return { ...facts, missingRight: mayChange === false ? missingRight : null };
  }

  protected readLabels(reading: HttpReading): Promise<readonly (string | null)[]> {
    return readList(this.api, reading, {
      segments: ['labels'],
      read: (value) => textOf(fieldsOf(value).name),
      idOf: (name) => name,
    });
  }

  protected rawTool(isReadOnly: boolean, stateOf: StateOf): HostTool {
    return githubTool({ api: this.api, isReadOnly, stateOf });
  }

  #githubOrder(order: ReadOrder) {
    return { ...order, api: this.api, repository: this.#repository, histories: this.#histories };
  }
}
