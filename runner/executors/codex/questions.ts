import { type Fields, fieldsOf, listOf, textOf } from '../../../src/domain/json.js';
import type { Answer, Question, QuestionField } from '../../../src/domain/run-signal.js';
import { REQUESTS, type RpcId } from './protocol.js';
import { boundData, cutText, type Reporter } from './reporter.js';

/** A request of the agent that a person can answer. */
export interface AgentQuestion {
  readonly draft: Omit<Question, 'id'>;
  /** The reply to the agent. Without an answer (`null`) it grants nothing. */
  reply(answer: Answer | null): unknown;
}

const MAX_OPEN_QUESTIONS = 20;

/**
 * The questions of a run that wait for a person. Each ends exactly once: by an answer, or because it was withdrawn. `onChange` is
 * called with `true` while at least one is open; the clock of the turn is paused for that time.
 */
export class OpenQuestions {
  readonly #open = new Map<string, OpenQuestion>();
  #count = 0;

  constructor(
    private readonly reporter: Reporter,
    private readonly onChange: (isAsking: boolean) => void,
    private readonly runId: string,
  ) {}

  /** The question that has waited longest. */
  get oldest(): Question | null {
    return this.#open.values().next().value?.question ?? null;
  }

  withId({ draft }: AgentQuestion): Question {
    this.#count += 1;
    // The id contains the run: a late answer to an earlier run must not match a question of this run.
    return { id: `${this.runId}-q${this.#count}`, ...draft };
  }

  /** Resolves to the reply for the agent. */
  async ask(rpcId: RpcId, asked: AgentQuestion): Promise<unknown> {
    if (this.#open.size >= MAX_OPEN_QUESTIONS) {
      this.reporter.warning(`declined: more than ${MAX_OPEN_QUESTIONS} questions at once`);
      return asked.reply(null);
    }
    const question = this.withId(asked);
    return new Promise((resolve) => {
      this.#open.set(question.id, { rpcId, question, settle: (answer) => resolve(asked.reply(answer)) });
      this.reporter.signal({ type: 'asked', question });
      this.onChange(true);
    });
  }

  /** An answer to a question that is no longer open is ignored. */
  answer(questionId: string, answer: Answer): void {
    this.#end(questionId, answer);
  }

  /** The agent no longer waits for this request. */
  withdraw(rpcId: unknown): void {
    for (const { rpcId: open, question } of this.#open.values()) {
      if (open === rpcId) this.#end(question.id, null);
    }
  }

  /** Closes all questions, because the turn is over. */
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

const MAX_QUESTION_CHARS = 20_000;
const MAX_FIELDS = 50;

/** Returns `null` when the request is not an approval. `changes` are the file changes of the item in question. */
export function approvalOf(method: string, params: Fields, changes: readonly unknown[]): AgentQuestion | null {
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

function approval(text: string, accept: object, decline: object): AgentQuestion {
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

/** Grants exactly the requested permissions, for this turn only. */
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

/** Requests that need text: questions of the agent, and forms of MCP servers. Returns `null` for any other request. */
export function inputRequestOf(method: string, params: Fields): AgentQuestion | null {
  if (method === REQUESTS.userInput) return userInput(params);
  if (method !== REQUESTS.elicitation) return null;
  const properties = Object.entries(fieldsOf(fieldsOf(params.requestedSchema).properties)).slice(0, MAX_FIELDS);
  return properties.length === 0 ? plainElicitation(params) : form(params, properties);
}

function userInput(params: Fields): AgentQuestion {
  const questions = listOf(params.questions).slice(0, MAX_FIELDS).map(fieldsOf);
  const fields = questions.map(
    (question, index): QuestionField => ({
      id: textOf(question.id) ?? String(index),
      label: textOf(question.question) ?? textOf(question.header) ?? '',
      options: listOf(question.options).flatMap((option) => textOf(fieldsOf(option).label) ?? []),
    }),
  );
  const text = questionText(
    questions.flatMap((question) => [textOf(question.header), textOf(question.question), ...optionLines(question)]),
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

/** One line for each option that has a description. People choose by label. */
function optionLines(question: Fields): string[] {
  return listOf(question.options)
    .map(fieldsOf)
    .flatMap(({ label, description }) => (textOf(label) && textOf(description) ? [`${label}: ${description}`] : []));
}

function plainElicitation(params: Fields): AgentQuestion {
  const text = questionText([origin(params), textOf(params.message), textOf(params.url)]);
  return approval(text, elicited('accept', textOf(params.url) ? null : {}), elicited('decline'));
}

function form(params: Fields, properties: readonly (readonly [string, unknown])[]): AgentQuestion {
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

/** People answer in text; the form declares a type. Text that does not fit the type stays text, and the MCP server validates it. */
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

function elicited(action: 'accept' | 'decline', content: object | null = null): object {
  return { action, content, _meta: null };
}

function questionText(parts: readonly (string | null)[]): string {
  return cutText(parts.filter((part) => part !== null).join('\n'), MAX_QUESTION_CHARS);
}
