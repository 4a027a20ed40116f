import type { ApprovalAnswer } from '../../../src/domain/config.js';
import { type Fields, fieldsOf } from '../../../src/domain/fields.js';
import type { Question } from '../../../src/domain/question.js';
import { type Ask, approvalOf } from './approvals.js';
import type { Asking } from './asking.js';
import { isKnownRequest } from './classify-message.js';
import type { HostTools } from './host-tools.js';
import { inputRequestOf } from './input-requests.js';
import type { RpcId } from './parse-message.js';
import { REQUESTS } from './protocol.js';
import type { Reporter } from './reporter.js';

/** Answers what the agent asks of us, so that no request ever stalls a run: by policy, by a person, by a host tool, or with an error. */
export interface RequestDeps {
  readonly policy: ApprovalAnswer;
  readonly asking: Asking;
  readonly tools: HostTools;
  readonly reporter: Reporter;
  /** The file changes of an item, as far as they were announced. */
  changesOf(itemId: unknown): readonly unknown[];
  /** Ends the turn, because a person is needed and nobody may be asked. */
  onInputRequired(question: Question): void;
}

export class ServerRequests {
  constructor(private readonly deps: RequestDeps) {}

  /** `undefined`: not a request we know; the caller replies with an error. */
  handle(method: string, id: RpcId, rawParams: unknown): Promise<unknown> | undefined {
    const params = fieldsOf(rawParams);
    if (!isKnownRequest(method)) {
      this.deps.reporter.event('other_message', { method, data: { warning: 'refused an unknown request', params } });
      return undefined;
    }
    if (method === REQUESTS.toolCall) return this.deps.tools.call(method, params);
    const approval = approvalOf(method, params, this.deps.changesOf(params.itemId));
    if (approval) return this.#approve(method, id, params, approval);
    const input = inputRequestOf(method, params);
    return input ? this.#input(method, id, params, input) : undefined;
  }

  async #approve(method: string, id: RpcId, params: Fields, ask: Ask): Promise<unknown> {
    const { policy, reporter, asking } = this.deps;
    if (policy === 'accept') {
      reporter.event('approval_auto_approved', { method, data: params });
      return ask.reply({ kind: 'accept' });
    }
    reporter.event('notification', { method, data: { ...params, answered: policy } });
    return policy === 'ask' ? asking.ask(id, ask) : ask.reply(null);
  }

  async #input(method: string, id: RpcId, params: Fields, ask: Ask): Promise<unknown> {
    const { policy, reporter, asking, onInputRequired } = this.deps;
    if (policy === 'ask') {
      reporter.event('notification', { method, data: params });
      return asking.ask(id, ask);
    }
    // A form of an MCP server can be declined, and a question that does not block can stay open: the agent goes on.
    if (method !== REQUESTS.userInput || params.isBlocking === false) {
      reporter.event('notification', { method, data: { ...params, answered: 'decline' } });
      return ask.reply(null);
    }
    const question = asking.question(ask);
    reporter.event('turn_input_required', { method, data: { question: question.text } });
    onInputRequired(question);
    // No reply: without one the agent stays where it is until it is stopped.
    return new Promise(() => {});
  }
}
