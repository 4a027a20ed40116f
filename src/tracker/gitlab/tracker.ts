import type { Trust } from '../../domain/config.js';
import type { Comment } from '../../domain/issue.js';
import type { HostTool, IssueBatch } from '../../domain/ports.js';
import {
  type ForgeFacts,
  type ForgeOptions,
  ForgeTracker,
  type IssueWriter,
  type ReadOrder,
  type StateOf,
} from '../forge.js';
import type { ForgeIssue } from '../forge-issue.js';
import type { HttpReading } from '../http/tracker-http.js';
import type { TrackerAdapter } from '../registry.js';
import { GITLAB, GitlabApi, Project, readLabels } from './api.js';
import { NUMBERS, usernameOf } from './issue.js';
import { Blockers, readByNumbers, readByStates, readComments, readOne } from './read.js';
import { DEFAULTS, KIND, readGitlabSettings } from './settings.js';
import { gitlabTool } from './tool.js';
import { EditHistories, MEMBER_LEVEL, Members } from './trust.js';
import { moveIssue, writeComment } from './write.js';

export const gitlabTracker: TrackerAdapter = {
  kind: KIND,
  defaults: DEFAULTS,
  create(options) {
    const { project, endpoint, token, assignee, states, rawTool } = readGitlabSettings(options);
    const api = new GitlabApi({ endpoint, project, token, mask: (text) => options.mask(text) });
    const instance = `${endpoint.host}${endpoint.pathname}`.replace(/\/$/, '');
    const forge: ForgeOptions = {
      ...{ kind: KIND, defaults: DEFAULTS, name: GITLAB, target: project, numbers: NUMBERS },
      ...{ states, assignee, rawTool },
      scope: `${KIND}:${instance}/${project}`.toLowerCase(),
      settings: () => options.settings(),
    };
    return new GitlabTracker(api, forge, options.nowMs);
  },
};

/**
 * The issues of one GitLab project. Between reads it remembers the answers that GitLab need not send again, the members for five minutes, the project for ten, who edited
 * which version of an issue, and whether the instance has blockers.
 */
class GitlabTracker extends ForgeTracker {
  readonly #project: Project;
  readonly #members: Members;
  readonly #blockers: Blockers;
  readonly #histories: EditHistories;

  constructor(
    private readonly api: GitlabApi,
    options: ForgeOptions,
    nowMs: () => number,
  ) {
    super(options);
    this.#project = new Project(api, nowMs);
    this.#members = new Members(api, nowMs);
    this.#blockers = new Blockers(api, this.#project, options.states);
    this.#histories = new EditHistories(api);
  }

  async close(): Promise<void> {
    this.api.close();
  }

  protected reading(signal: AbortSignal): HttpReading {
    return this.api.reading(signal);
  }

  protected async admit(reading: HttpReading): Promise<void> {
    await this.#project.facts(reading);
  }

  protected readByStates(states: readonly string[], order: ReadOrder): Promise<IssueBatch> {
    return readByStates(states, this.#gitlabOrder(order));
  }

  protected readByNumbers(numbers: readonly number[], order: ReadOrder): Promise<IssueBatch> {
    return readByNumbers(numbers, this.#gitlabOrder(order));
  }

  protected readIssue(number: number, reading: HttpReading): Promise<ForgeIssue | null> {
    return readOne(number, this.api, reading);
  }

  protected readNewestComments(number: number, reading: HttpReading, trust: Trust): Promise<readonly Comment[]> {
    return readComments(number, { api: this.api, reading, members: this.#members, trust });
  }

  protected writeComment(number: number, text: string, writer: IssueWriter): Promise<void> {
    return writeComment(number, text, writer, this.api);
  }

  protected move(number: number, state: string, writer: IssueWriter): Promise<void> {
    return moveIssue(number, state, writer, { api: this.api, states: this.options.states });
  }

  protected async readOwnLogin(reading: HttpReading): Promise<string | null> {
    const { status, body } = await reading.get(this.api.path('user'), { accept: [403] });
    return status === 403 ? null : usernameOf(body);
  }

  protected async readFacts(reading: HttpReading): Promise<ForgeFacts> {
    const { fullPath, level, hasIssues, isArchived } = await this.#project.read(reading);
    const isLow = level !== null && level < MEMBER_LEVEL;
    const missingRight = `The role of the token in ${fullPath} is below Planner: agents cannot move the issues of others.`;
    return { fullName: fullPath, hasIssues, isArchived, missingRight: isLow ? missingRight : null };
  }

  protected readLabels(reading: HttpReading): Promise<readonly (string | null)[]> {
    return readLabels(this.api, reading);
  }

  protected rawTool(isReadOnly: boolean, stateOf: StateOf): HostTool {
    return gitlabTool({ api: this.api, project: this.#project, isReadOnly, stateOf });
  }

  #gitlabOrder(order: ReadOrder) {
    const { api } = this;
    return {
      ...{ ...order, api, project: this.#project, members: this.#members },
      ...{ blockers: this.#blockers, histories: this.#histories },
    };
  }
}
