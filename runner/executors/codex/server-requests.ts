import type { ApprovalAnswer } from '../../../src/domain/config.js';
import { BatonError } from '../../../src/domain/errors.js';
import type { Issue } from '../../../src/domain/issue.js';
import { type Fields, fieldsOf, textOf } from '../../../src/domain/json.js';
import type { Question } from '../../../src/domain/run-signal.js';
import type { StepContext } from '../executor.js';
import { isKnownRequest, REQUESTS, type RpcId } from './protocol.js';
import { type AgentQuestion, approvalOf, inputRequestOf, type OpenQuestions } from './questions.js';
import { cutText, type Reporter } from './reporter.js';
import { type HeldCall, holdOf } from './secret-hold.js';

interface RequestDeps {
  readonly policy: ApprovalAnswer;
  readonly questions: OpenQuestions;
  readonly tools: HostTools;
  readonly reporter: Reporter;
  /** The file changes that the agent has announced for an item. */
  changesOf(itemId: unknown): readonly unknown[];
  /** Ends the turn: a person is needed, but the policy does not ask people. */
  onInputRequired(question: Question): void;
}

/**
 * Answers the requests of the agent: by policy, by asking a person, by a host tool, or with an error. Every request gets an answer
 * or ends the turn, so that no request can stall a run.
 */
export class ServerRequests {
  constructor(private readonly deps: RequestDeps) {}

  /** Returns `undefined` for an unknown request; the caller then replies with an error. */
  handle(method: string, id: RpcId, rawParams: unknown): Promise<unknown> | undefined {
    const params = fieldsOf(rawParams);
    if (!isKnownRequest(method)) {
      this.deps.reporter.event('other_message', { method, data: { warning: 'refused an unknown request', params } });
      return undefined;
    }
    if (method === REQUESTS.toolCall) return this.deps.tools.call(method, id, params);
    const approval = approvalOf(method, params, this.deps.changesOf(params.itemId));
    if (approval) return this.#approve(method, id, params, approval);
    const input = inputRequestOf(method, params);
    return input ? this.#input(method, id, params, input) : undefined;
  }

  async #approve(method: string, id: RpcId, params: Fields, question: AgentQuestion): Promise<unknown> {
    const { policy, reporter, questions } = this.deps;
    if (policy === 'accept') {
      reporter.event('approval_auto_approved', { method, data: params });
      return question.reply({ kind: 'accept' });
    }
    reporter.event('notification', { method, data: { ...params, answered: policy } });
    return policy === 'ask' ? questions.ask(id, question) : question.reply(null);
  }

  async #input(method: string, id: RpcId, params: Fields, question: AgentQuestion): Promise<unknown> {
    const { policy, reporter, questions, onInputRequired } = this.deps;
    if (policy === 'ask') {
      reporter.event('notification', { method, data: params });
      return questions.ask(id, question);
    }
    // The agent continues when the form of an MCP server is declined, or when a question that does not block stays unanswered.
    if (method !== REQUESTS.userInput || params.isBlocking === false) {
      reporter.event('notification', { method, data: { ...params, answered: 'decline' } });
      return question.reply(null);
    }
    const unanswered = questions.withId(question);
    reporter.event('turn_input_required', { method, data: { question: unanswered.text } });
    onInputRequired(unanswered);
    // Send no reply, so that the agent waits until it is stopped.
    return new Promise(() => {});
  }
}

interface ToolDeps {
  readonly context: Pick<StepContext, 'tools' | 'runId' | 'knownSecrets' | 'resume'>;
  readonly reporter: Reporter;
  readonly questions: OpenQuestions;
  currentIssue(): Issue;
}

/**
 * Runs the tools that Baton offers to the agent. A tool acts on the issue of the run only. Its failure is an answer to the agent and does not end the run. A call
 * that contains a secret waits for a person, whatever `codex.on_approval_request` says: that setting is about what agents do on this machine.
 */
export class HostTools {
  #open = 0;
  #limitedUntilMs: number | null = null;

  constructor(private readonly deps: ToolDeps) {}

  async call(method: string, id: RpcId, params: Fields): Promise<object> {
    const { context, reporter } = this.deps;
    const name = textOf(params.tool) ?? '';
    const tool = context.tools.find((candidate) => candidate.name === name);
    if (!tool) {
      reporter.event('unsupported_tool_call', { method, data: { tool: name } });
      return toolReply(false, `There is no tool ${cutText(name, 100)}. Tools of this session: ${this.#names()}.`);
    }
    reporter.event('notification', { method, data: params });
    const size = JSON.stringify(params.arguments ?? null).length;
    if (size > tool.maxInputChars)
      return toolReply(false, `The input has ${size} characters, and ${name} takes ${tool.maxInputChars}.`);
    const held = holdOf(name, params.arguments, await context.knownSecrets());
    if (held !== null && !(await this.#isAllowed(id, held))) return toolReply(false, held.refusal);
    this.#countOpen(+1);
    try {
      const result = await tool.call(params.arguments, { issue: this.deps.currentIssue(), runId: context.runId });
      if (result.movedTo !== undefined) reporter.signal({ type: 'moved_issue', state: result.movedTo });
      if (result.limitedUntilMs !== undefined) this.#limitedUntilMs = result.limitedUntilMs;
      else if (result.success) this.#limitedUntilMs = null;
      return toolReply(result.success, result.text);
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      reporter.warning('a host tool failed', { tool: name, message });
      return toolReply(false, `${name} failed: ${message}`);
    } finally {
      this.#countOpen(-1);
    }
  }

  /**
   * Throws `tracker_rate_limited` when the tracker's last answer was a rate limit: the next turn would end the same way. The run
   * continues on the same thread after the reset.
   */
  endIfLimited(): void {
    const resetAtMs = this.#limitedUntilMs;
    if (resetAtMs === null) return;
    const message = 'the tracker rate-limits our requests and refused the last tool call of the agent';
    throw new BatonError('tracker_rate_limited', message, { resetAtMs });
  }

  /** A person allows it now, or did so when the run had already ended, which resumed the thread of the agent. */
  async #isAllowed(id: RpcId, { question }: HeldCall): Promise<boolean> {
    const { context, questions } = this.deps;
    const late = context.resume?.answer;
    if (late?.answer.kind === 'accept' && late.question.text === question.draft.text) return true;
    return questions.ask(id, question);
  }

  /** Reported before and after each call: the moved issue may be observed before the tool returns. */
  #countOpen(difference: number): void {
    this.#open += difference;
    this.deps.reporter.signal({ type: 'host_calls', open: this.#open });
  }

  #names(): string {
    const { tools } = this.deps.context;
    return tools.length === 0 ? 'none' : tools.map((tool) => tool.name).join(', ');
  }
}

function toolReply(success: boolean, text: string): object {
  return { success, contentItems: [{ type: 'inputText', text }] };
}
