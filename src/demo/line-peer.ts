import type { Readable, Writable } from 'node:stream';
import { type Fields, fieldsOf, textOf } from '../domain/json.js';
import type { DemoThread, Usage } from './demo-thread.js';

/**
 * One end of the app-server protocol: one JSON object per line, no `jsonrpc` member. Requests are answered in the order in
 * which they come; a line that is no message is passed over, as codex does.
 */
export class LinePeer {
  readonly #waiting = new Map<number, (reply: Fields) => void>();
  /** Ids start at 0, as with the real one. */
  #nextId = 0;
  #rest = '';

  constructor(
    input: Readable,
    private readonly output: Writable,
    private readonly handle: (method: string, params: Fields) => Handled,
  ) {
    input.setEncoding('utf8');
    input.on('data', (text: string) => this.#read(text));
  }

  notify(method: string, params: object): void {
    this.#send({ method, params, emittedAtMs: Date.now() });
  }

  /** Resolves to the whole reply, with its `result` or its `error`. */
  request(method: string, params: object): Promise<Fields> {
    const id = this.#nextId++;
    return new Promise((resolve) => {
      this.#waiting.set(id, resolve);
      this.#send({ id, method, params });
    });
  }

  // Not readline: that ends a line at U+2028 too, which JSON leaves as it is.
  #read(text: string): void {
    const lines = (this.#rest + text).split('\n');
    this.#rest = lines.pop() ?? '';
    for (const line of lines) this.#take(line);
  }

  #take(line: string): void {
    const message = parse(line);
    const method = textOf(message.method);
    const { id } = message;
    if (method !== null && id !== undefined) this.#answer(id, method, fieldsOf(message.params));
    else if (method === null && typeof id === 'number') {
      this.#waiting.get(id)?.(message);
      this.#waiting.delete(id);
    }
  }

  #answer(id: unknown, method: string, params: Fields): void {
    try {
      const { result, after } = this.handle(method, params);
      this.#send({ id, result });
      after?.();
    } catch (error) {
      if (!(error instanceof RefusedError)) throw error;
      this.#send({ id, error: { code: error.code, message: error.message } });
    }
  }

  #send(message: object): void {
    this.output.write(`${JSON.stringify(message)}\n`);
  }
}

/** The reply to a request, and what is to be done once it is sent. */
export interface Handled {
  readonly result: object;
  after?(): void;
}

/** A request that is answered with an error. −32600 is what codex says to nearly everything that it does not want. */
export class RefusedError extends Error {
  readonly code = -32600;
}

function parse(line: string): Fields {
  try {
    return fieldsOf(JSON.parse(line));
  } catch {
    return {};
  }
}

/** The shapes of `codex app-server generate-ts`, 0.166.0, as far as the demo agent sends them. */
const MODEL = 'demo';

export function threadReply(thread: DemoThread, nowMs: number) {
  return {
    thread: {
      id: thread.id,
      sessionId: thread.id,
      forkedFromId: null,
      parentThreadId: null,
      preview: '',
      ephemeral: false,
      section: null,
      sectionEnteredAt: null,
      projectId: null,
      historyMode: 'legacy',
      modelProvider: MODEL,
      model: MODEL,
      reasoningEffort: null,
      createdAt: seconds(nowMs),
      updatedAt: seconds(nowMs),
      recencyAt: null,
      status: { type: 'idle' },
      path: null,
      cwd: thread.cwd,
      cliVersion: '0.0.0',
      originator: null,
      source: 'appServer',
      threadSource: null,
      agentNickname: null,
      agentRole: null,
      gitInfo: null,
      name: thread.name,
      turns: [],
    },
    model: MODEL,
    modelProvider: MODEL,
    serviceTier: null,
    disabledPluginIds: [],
    cwd: thread.cwd,
    instructionSources: [],
    // What it really has: nobody is asked, and nothing of its own keeps a command in bounds.
    approvalPolicy: 'never',
    approvalsReviewer: 'user',
    sandbox: { type: 'dangerFullAccess' },
    reasoningEffort: null,
  };
}

export type TurnStatus = 'inProgress' | 'completed' | 'interrupted' | 'failed';

export function turnShape(id: string, status: TurnStatus, beganMs: number, endedMs: number | null, message?: string) {
  return {
    id,
    rootTurnId: id,
    items: [],
    itemsView: 'notLoaded',
    status,
    error: message === undefined ? null : turnError(message),
    startedAt: seconds(beganMs),
    completedAt: endedMs === null ? null : seconds(endedMs),
    durationMs: endedMs === null ? null : endedMs - beganMs,
  };
}

export function turnError(message: string): object {
  return { message, codexErrorInfo: 'other', additionalDetails: null, misalignment: null };
}

export function messageItem(id: string, text: string, phase: 'commentary' | 'final_answer'): object {
  return { type: 'agentMessage', id, text, phase, memoryCitation: null, delivery: null, questions: null };
}

export function commandItem(id: string, command: string, cwd: string, result: CommandResult | null): object {
  return {
    type: 'commandExecution',
    id,
    pluginId: null,
    scriptPath: null,
    command: `bash -c ${shellQuoted(command)}`,
    cwd,
    processId: null,
    source: 'agent',
    status: result === null ? 'inProgress' : result.exitCode === 0 ? 'completed' : 'failed',
    commandActions: [{ type: 'unknown', command }],
    aggregatedOutput: result?.output ?? null,
    exitCode: result?.exitCode ?? null,
    durationMs: result?.durationMs ?? null,
  };
}

interface CommandResult {
  readonly exitCode: number;
  readonly output: string;
  readonly durationMs: number;
}

export function usageShape(total: Usage, last: Usage): object {
  const counts = (usage: Usage) => ({
    totalTokens: usage.inputTokens + usage.outputTokens,
    ...usage,
    cacheWriteInputTokens: 0,
    reasoningOutputTokens: 0,
  });
  return { total: counts(total), last: counts(last), modelContextWindow: 200_000 };
}

export function shellQuoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

function seconds(ms: number): number {
  return Math.floor(ms / 1_000);
}
