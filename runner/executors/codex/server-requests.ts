import type { ApprovalAnswer } from '../../../src/domain/config.js';
import { BatonError } from '../../../src/domain/errors.js';
import type { Issue } from '../../../src/domain/issue.js';
import { type Fields, fieldsOf, listOf, textOf } from '../../../src/domain/json.js';
import type { HostTool } from '../../../src/domain/ports.js';
import type { Answer, Question, QuestionField } from '../../../src/domain/run-signal.js';
import { isKnownRequest, REQUESTS, type RpcId } from './protocol.js';
import { boundData, cutText, type Reporter } from './reporter.js';

/** Answers what the agent asks of us, so that no request ever stalls a run: by policy, by a person, by a host tool, or with an error. */
interface RequestDeps {
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

/** Tools that the agent calls and the host carries out, bound to the run's own issue. Whatever goes wrong is an answer, not an end. */
export class HostTools {
  #open = 0;
  #limitedUntilMs: number | null = null;

  constructor(
    private readonly tools: readonly HostTool[],
    private readonly runId: string,
    private readonly reporter: Reporter,
    private readonly currentIssue: () => Issue,
  ) {}

  async call(method: string, params: Fields): Promise<object> {
    const name = textOf(params.tool) ?? '';
    const tool = this.tools.find((candidate) => candidate.name === name);
    if (!tool) {
      this.reporter.event('unsupported_tool_call', { method, data: { tool: name } });
      return toolReply(false, `There is no tool ${cutText(name, 100)}. Tools of this session: ${this.#names()}.`);
    }
    this.reporter.event('notification', { method, data: params });
    this.#tell(+1);
    try {
      const result = await tool.call(params.arguments, { issue: this.currentIssue(), runId: this.runId });
      if (result.movedTo !== undefined) this.reporter.signal({ type: 'moved_issue', state: result.movedTo });
      if (result.limitedUntilMs !== undefined) this.#limitedUntilMs = result.limitedUntilMs;
      else if (result.success) this.#limitedUntilMs = null;
      return toolReply(result.success, result.text);
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      this.reporter.warning('a host tool failed', { tool: name, message });
      return toolReply(false, `${name} failed: ${message}`);
    } finally {
      this.#tell(-1);
    }
  }

  /**
   * Throws `tracker_rate_limited` where the last word of the tracker was that it will take no more: another turn would cost as much as this one and end like it. The run
   * goes on after the reset, on its thread.
   */
  endIfLimited(): void {
    const resetAtMs = this.#limitedUntilMs;
    if (resetAtMs === null) return;
    const message = 'the tracker limits our requests and refused what the agent asked for';
    throw new BatonError('tracker_rate_limited', message, { resetAtMs });
  }

  /** Before the first and after the last word about a move: others may see it before the tool returns. */
  #tell(difference: number): void {
    this.#open += difference;
    this.reporter.signal({ type: 'host_calls', open: this.#open });
  }

  #names(): string {
    return this.tools.length === 0 ? 'none' : this.tools.map((tool) => tool.name).join(', ');
  }
}

function toolReply(success: boolean, text: string): object {
  return { success, contentItems: [{ type: 'inputText', text }] };
}

/** Requests for words instead of a yes: the agent's own questions, and the forms of MCP servers. */
export function inputRequestOf(method: string, params: Fields): Ask | null {
  if (method === REQUESTS.userInput) return userInput(params);
  if (method !== REQUESTS.elicitation) return null;
  const properties = Object.entries(fieldsOf(fieldsOf(params.requestedSchema).properties)).slice(0, MAX_FIELDS);
  return properties.length === 0 ? plainElicitation(params) : form(params, properties);
}

const MAX_FIELDS = 50;

function userInput(params: Fields): Ask {
  const questions = listOf(params.questions).slice(0, MAX_FIELDS).map(fieldsOf);
  const fields = questions.map(
    (question, index): QuestionField => ({
      id: textOf(question.id) ?? String(index),
      label: textOf(question.question) ?? textOf(question.header) ?? '',
      options: listOf(question.options).flatMap((option) => textOf(fieldsOf(option).label) ?? []),
    }),
  );
  const text = questionText(
    questions.flatMap((question) => [textOf(question.header), textOf(question.question), ...described(question)]),
  );
  return {
    draft: { kind: 'input', text: text === '' ? 'The agent asks for input' : text, fields },
    reply: (answer) => {
      const given = valuesOf(answer);
      const answered = fields.filter((field) => Object.hasOwn(given, field.id));
      return { answers: Object.fromEntries(answered.map((field) => [field.id, { answers: [given[field.id]] }])) };
    },
  };
}

/** What its options mean, where they say so: a person chooses by their labels. */
function described(question: Fields): string[] {
  return listOf(question.options)
    .map(fieldsOf)
    .flatMap(({ label, description }) => (textOf(label) && textOf(description) ? [`${label}: ${description}`] : []));
}

function plainElicitation(params: Fields): Ask {
  const text = questionText([origin(params), textOf(params.message), textOf(params.url)]);
  return approval(text, elicited('accept', textOf(params.url) ? null : {}), elicited('decline'));
}

function form(params: Fields, properties: readonly (readonly [string, unknown])[]): Ask {
  const schemas = new Map(properties.map(([id, schema]) => [id, fieldsOf(schema)] as const));
  const fields = [...schemas].map(
    ([id, schema]): QuestionField => ({
      id,
      label: textOf(schema.title) ?? textOf(schema.description) ?? id,
      options: optionsOf(schema),
    }),
  );
  return {
    draft: { kind: 'input', text: questionText([origin(params), textOf(params.message)]), fields },
    reply: (answer) => {
      if (answer?.kind !== 'input') return elicited('decline');
      const given = Object.entries(answer.values).flatMap(([id, value]) => {
        const schema = schemas.get(id);
        return schema ? [[id, typed(value, schema)] as const] : [];
      });
      return elicited('accept', Object.fromEntries(given));
    },
  };
}

function origin(params: Fields): string {
  return `The MCP server ${textOf(params.serverName) ?? '(unnamed)'} asks`;
}

function optionsOf(schema: Fields): readonly string[] {
  if (schema.type === 'boolean') return ['true', 'false'];
  const choices = fieldsOf(schema.items);
  return [schema.enum, schema.oneOf, choices.enum, choices.anyOf]
    .flatMap(listOf)
    .flatMap((choice) => textOf(choice) ?? textOf(fieldsOf(choice).const) ?? []);
}

/** People answer in text; the form says what type it wants. What does not fit stays text, and the MCP server judges it. */
function typed(value: string, schema: Fields): unknown {
  if (schema.type === 'boolean') return value.trim().toLowerCase() === 'true';
  if (schema.type === 'array') return value.split(',').map((part) => part.trim());
  if (schema.type !== 'number' && schema.type !== 'integer') return value;
  const number = Number(value);
  return value.trim() !== '' && Number.isFinite(number) ? number : value;
}

function valuesOf(answer: Answer | null): { readonly [id: string]: string } {
  return answer?.kind === 'input' ? answer.values : {};
}

/** Something the agent wants from a person, and how their answer goes back. `null`: there is no answer, so nothing is granted. */
interface Ask {
  readonly draft: Omit<Question, 'id'>;
  reply(answer: Answer | null): unknown;
}

const MAX_QUESTION = 20_000;

/** `null` when the request is not an approval. `changes`: the file changes of the item that it is about. */
function approvalOf(method: string, params: Fields, changes: readonly unknown[]): Ask | null {
  switch (method) {
    case REQUESTS.commandApproval:
      return approval(commandText(params), { decision: 'accept' }, { decision: 'decline' });
    case REQUESTS.fileApproval:
      return approval(fileText(params, changes), { decision: 'accept' }, { decision: 'decline' });
    case REQUESTS.permissionsApproval:
      return approval(permissionsText(params), granted(params), { permissions: {}, scope: 'turn' });
    case REQUESTS.elicitation:
      return isToolApproval(params) ? approval(toolText(params), elicited('accept', {}), elicited('decline')) : null;
    default:
      return null;
  }
}

function elicited(action: 'accept' | 'decline', content: object | null = null): object {
  return { action, content, _meta: null };
}

function questionText(parts: readonly (string | null)[]): string {
  return cutText(parts.filter((part) => part !== null).join('\n'), MAX_QUESTION);
}

function approval(text: string, accept: object, decline: object): Ask {
  return {
    draft: { kind: 'approval', text, fields: [] },
    reply: (answer) => (answer?.kind === 'accept' ? accept : decline),
  };
}

function commandText(params: Fields): string {
  return questionText([
    commandHeading(params),
    line('Command', params.command),
    line('Folder', params.cwd),
    line('Reason', params.reason),
  ]);
}

function commandHeading(params: Fields): string {
  const { host, protocol } = fieldsOf(params.networkApprovalContext);
  if (textOf(host)) return `Reach ${textOf(host)} over ${textOf(protocol) ?? 'the network'}`;
  return params.kind === 'writeStdin' ? 'Type into a running command' : 'Run a command';
}

function fileText(params: Fields, changes: readonly unknown[]): string {
  const diffs = changes.map((change) => {
    const { path, diff } = fieldsOf(change);
    return `${textOf(path) ?? '(no path)'}\n${textOf(diff) ?? ''}`;
  });
  return questionText([
    'Change files',
    line('Reason', params.reason),
    line('Writable from now on', params.grantRoot),
    ...diffs,
  ]);
}

function permissionsText(params: Fields): string {
  return questionText([
    'Grant more rights for this turn',
    line('Reason', params.reason),
    JSON.stringify(boundData(params.permissions), null, 2),
  ]);
}

function toolText(params: Fields): string {
  const { tool_description: description, tool_params: input } = fieldsOf(params._meta);
  return questionText([
    `Use a tool of the MCP server ${textOf(params.serverName) ?? '(unnamed)'}`,
    textOf(params.message),
    line('What it does', description),
    input === undefined ? null : `Input: ${JSON.stringify(boundData(input))}`,
  ]);
}

/** Exactly what was asked for, for this turn only. */
function granted(params: Fields): object {
  const entries = Object.entries(fieldsOf(params.permissions)).filter(([, value]) => value !== null);
  return { permissions: Object.fromEntries(entries), scope: 'turn' };
}

function isToolApproval(params: Fields): boolean {
  return textOf(fieldsOf(params._meta).codex_approval_kind) !== null;
}

function line(label: string, value: unknown): string | null {
  const text = Array.isArray(value) ? value.filter((part) => typeof part === 'string').join(' ') : textOf(value);
  return text === null ? null : `${label}: ${text}`;
}

/**
 * The questions of a run that wait for a person. Each ends exactly once: by an answer, or because the agent withdrew it.
 * While one is open the turn's clock stands still (`onChange`).
 */
const MAX_OPEN_QUESTIONS = 20;

export class Asking {
  readonly #open = new Map<string, OpenQuestion>();
  #count = 0;

  constructor(
    private readonly reporter: Reporter,
    private readonly onChange: (isAsking: boolean) => void,
    private readonly runId: string,
  ) {}

  /** The question that has waited longest. */
  get first(): Question | null {
    return this.#open.values().next().value?.question ?? null;
  }

  question(ask: Ask): Question {
    this.#count += 1;
    // With the run in it: a late answer to a question of an earlier run must not be taken for one to a question of this.
    return { id: `${this.runId}-q${this.#count}`, ...ask.draft };
  }

  /** Resolves to the reply for the agent. */
  async ask(rpcId: RpcId, ask: Ask): Promise<unknown> {
    if (this.#open.size >= MAX_OPEN_QUESTIONS) {
      this.reporter.warning(`declined: more than ${MAX_OPEN_QUESTIONS} questions at once`);
      return ask.reply(null);
    }
    const question = this.question(ask);
    return new Promise((resolve) => {
      this.#open.set(question.id, { rpcId, question, settle: (answer) => resolve(ask.reply(answer)) });
      this.reporter.signal({ type: 'asked', question });
      this.onChange(true);
    });
  }

  /** An answer to a question that is not open comes too late and changes nothing. */
  answer(questionId: string, answer: Answer): void {
    this.#end(questionId, answer);
  }

  /** The agent no longer waits for this request. */
  withdraw(rpcId: unknown): void {
    for (const { rpcId: open, question } of this.#open.values()) {
      if (open === rpcId) this.#end(question.id, null);
    }
  }

  /** The turn is over: nothing in it waits any more, said or unsaid. */
  withdrawAll(): void {
    for (const questionId of [...this.#open.keys()]) this.#end(questionId, null);
  }

  #end(questionId: string, answer: Answer | null): void {
    const open = this.#open.get(questionId);
    if (!open) return;
    this.#open.delete(questionId);
    open.settle(answer);
    this.reporter.signal({ type: 'question_closed', questionId });
    this.onChange(this.#open.size > 0);
  }
}

interface OpenQuestion {
  readonly rpcId: RpcId;
  readonly question: Question;
  settle(answer: Answer | null): void;
}
