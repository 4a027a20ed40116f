import { type Fields, fieldsOf, isAbsent, listOf, textOf } from '../../../src/domain/json.js';
import type { Answer, Question, QuestionField } from '../../../src/domain/run-signal.js';
import { shellWord } from '../../../src/domain/shell-word.js';
import { REQUESTS, type RpcId } from './protocol.js';
import { cutText, type Reporter } from './reporter.js';

/** A request of the agent that a person can answer. */
export interface AgentQuestion<Reply = unknown> {
  readonly draft: Omit<Question, 'id'>;
  /** The text before it was cut, for the transcript. */
  readonly wholeText?: string;
  /** The reply to the agent. Without an answer (`null`) it grants nothing. */
  reply(answer: Answer | null): Reply;
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
  async ask<Reply>(rpcId: RpcId, asked: AgentQuestion<Reply>): Promise<Reply> {
    if (this.#open.size >= MAX_OPEN_QUESTIONS) {
      this.reporter.warning(`declined: more than ${MAX_OPEN_QUESTIONS} questions at once`);
      return asked.reply(null);
    }
    const question = this.withId(asked);
    return new Promise((resolve) => {
      this.#open.set(question.id, { rpcId, question, settle: (answer) => resolve(asked.reply(answer)) });
      const { wholeText } = asked;
      this.reporter.signal({ type: 'asked', question, ...(wholeText === undefined ? {} : { wholeText }) });
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

/** What a person can review. A longer question can only be declined. */
const MAX_QUESTION_CHARS = 60_000;
/** The transcript of a run is bounded, too. */
const MAX_WHOLE_CHARS = 1_000_000;
const MAX_FIELDS = 50;
const MAX_LABEL_CHARS = 2_000;
const MAX_OPTIONS = 100;
const MAX_OPTION_CHARS = 500;

/** Returns `null` when the request is not an approval. `changes` are the file changes of the item in question. */
export function approvalOf(method: string, params: Fields, changes: readonly unknown[]): AgentQuestion | null {
  switch (method) {
    case REQUESTS.commandApproval:
      return approval(commandParts(params), { decision: 'accept' }, { decision: 'decline' });
    case REQUESTS.fileApproval:
      return approval(fileParts(params, changes), { decision: 'accept' }, { decision: 'decline' });
    case REQUESTS.permissionsApproval:
      return approval(permissionsParts(params), granted(params), { permissions: {}, scope: 'turn' });
    case REQUESTS.elicitation:
      return isToolApproval(params) ? approval(toolParts(params), elicited('accept', {}), elicited('decline')) : null;
    default:
      return null;
  }
}

/** Parts of the text; null parts are left out. */
type Parts = readonly (string | null)[];

/** A part of an approval is missing, so nobody can see what it grants. */
const NOT_SHOWN = 'The agent did not say what it wants to change.';

function approval(parts: Parts, accept: object, decline: object): AgentQuestion {
  return {
    ...draftOf('approval', parts, [], parts.includes(NOT_SHOWN)),
    reply: (answer) => (answer?.kind === 'accept' ? accept : decline),
  };
}

/** A question to a person that waits for an approval of `parts`, and its answer as yes or no. */
export function yesOrNo(parts: Parts): AgentQuestion<boolean> {
  return { ...draftOf('approval', parts), reply: (answer) => answer?.kind === 'accept' };
}

function commandParts(params: Fields): Parts {
  return [
    commandHeading(params),
    line('Command', params.command),
    line('Folder', params.cwd),
    line('Reason', params.reason),
    isAbsent(params.additionalPermissions) ? null : `With more rights: ${json(params.additionalPermissions)}`,
  ];
}

function commandHeading(params: Fields): string {
  const { host, protocol } = fieldsOf(params.networkApprovalContext);
  if (textOf(host)) return `Reach ${textOf(host)} over ${textOf(protocol) ?? 'the network'}`;
  return params.kind === 'writeStdin' ? 'Type into a running command' : 'Run a command';
}

function fileParts(params: Fields, changes: readonly unknown[]): Parts {
  const diffs = changes.map((change) => {
    const { path, diff, kind } = fieldsOf(change);
    const target = textOf(fieldsOf(kind).move_path);
    const name = `${textOf(path) ?? '(no path)'}${target === null ? '' : `, moved to ${target}`}`;
    return `${name}${fieldsOf(kind).type === 'delete' ? ', deleted' : ''}\n${textOf(diff) ?? ''}`;
  });
  return [
    'Change files',
    line('Reason', params.reason),
    line('Writable from now on', params.grantRoot),
    ...(diffs.length === 0 && isAbsent(params.grantRoot) ? [NOT_SHOWN] : diffs),
  ];
}

function permissionsParts(params: Fields): Parts {
  return ['Grant more rights for this turn', line('Reason', params.reason), json(params.permissions, 2)];
}

function toolParts(params: Fields): Parts {
  const { tool_description: description, tool_params: input } = fieldsOf(params._meta);
  return [
    `Use a tool of the MCP server ${textOf(params.serverName) ?? '(unnamed)'}`,
    textOf(params.message),
    line('What it does', description),
    input === undefined ? null : `Input: ${json(input)}`,
  ];
}

/** Whole, because it is what a person approves. */
function json(value: unknown, indent?: number): string {
  return JSON.stringify(value ?? null, null, indent);
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
  if (isAbsent(value)) return null;
  // Words of a command are quoted: joined by blanks, two commands would look the same.
  const isWords = Array.isArray(value) && value.every((part) => typeof part === 'string');
  return `${label}: ${isWords ? value.map(shellWord).join(' ') : (textOf(value) ?? json(value))}`;
}

/** Requests that need text: questions of the agent, and forms of MCP servers. Returns `null` for any other request. */
export function inputRequestOf(method: string, params: Fields): AgentQuestion | null {
  if (method === REQUESTS.userInput) return userInput(params);
  if (method !== REQUESTS.elicitation) return null;
  const properties = Object.entries(fieldsOf(fieldsOf(params.requestedSchema).properties));
  if (properties.length === 0) return plainElicitation(params);
  return form(params, properties.slice(0, MAX_FIELDS), properties.length > MAX_FIELDS);
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
  const parts = questions.flatMap((question) => [
    textOf(question.header),
    textOf(question.question),
    ...optionLines(question),
  ]);
  const isShown = parts.some((part) => part !== null && part !== '');
  const isCut = listOf(params.questions).length > MAX_FIELDS;
  return {
    ...draftOf('input', isShown ? parts : ['The agent asks for input'], fields, isCut),
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
  const parts = [origin(params), textOf(params.message), textOf(params.url)];
  return approval(parts, elicited('accept', textOf(params.url) ? null : {}), elicited('decline'));
}

function form(params: Fields, properties: readonly (readonly [string, unknown])[], isCut: boolean): AgentQuestion {
  const schemas = new Map(properties.map(([id, schema]) => [id, fieldsOf(schema)] as const));
  const fields = [...schemas].map(
    ([id, schema]): QuestionField => ({
      id,
      label: textOf(schema.title) ?? textOf(schema.description) ?? id,
      options: optionsOf(schema),
    }),
  );
  return {
    ...draftOf('input', [origin(params), textOf(params.message)], fields, isCut),
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

/** Bounds a question. When that leaves something out, the question is cut, and its whole text goes to the transcript. */
function draftOf(
  kind: Question['kind'],
  parts: Parts,
  fields: readonly QuestionField[] = [],
  isCut = false,
): Pick<AgentQuestion, 'draft' | 'wholeText'> {
  const whole = parts.filter((part) => part !== null).join('\n');
  const text = cutText(whole, MAX_QUESTION_CHARS);
  const bounded = fields.map(boundField);
  const isShort = text === whole && JSON.stringify(bounded) === JSON.stringify(fields);
  return {
    draft: { kind, text, fields: bounded, ...(isShort && !isCut ? {} : { isCut: true }) },
    ...(text === whole ? {} : { wholeText: cutText(whole, MAX_WHOLE_CHARS) }),
  };
}

function boundField({ id, label, options }: QuestionField): QuestionField {
  return {
    id,
    label: cutText(label, MAX_LABEL_CHARS),
    options: options.slice(0, MAX_OPTIONS).map((option) => cutText(option, MAX_OPTION_CHARS)),
  };
}
