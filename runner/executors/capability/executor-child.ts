import type { Duplex, Readable } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';
import type { Fields, JsonObject } from '../../../src/domain/json.js';
import type { ContainedProcess, ExitStatus } from '../../contain/process.js';
import { parseObject } from '../bounded-json.js';
import type { StepContext } from '../executor.js';
import { type FairScheduler, LineSplitter, readFairly } from '../read-lines.js';
import type { Ticket } from './hub.js';

const STOP = { eofMs: 0, termMs: 3_000, killMs: 2_000 } as const;

const MAX_LINE_BYTES = 16 * 1024 * 1024;

interface ChildSpec {
  readonly sideExecutionId: string;
  /** The id in the transcript. */
  readonly executionId: string;
  readonly dir: string;
  /** The file to run. */
  readonly entry: string;
  readonly context: StepContext;
  readonly ticket: Ticket;
  readonly clientPath: string;
  readonly scheduler: FairScheduler;
  onMessage(message: Fields): void;
  /** Called when the child prints something. */
  onOutput(): void;
}

/** The process of an executor, with its console output and its IPC channel. */
export class ExecutorChild {
  /** Resolves when all output and all messages of the channel were processed. */
  readonly quiet: Promise<unknown>;
  readonly #stderr: ChildOutput;

  private constructor(
    private readonly process: ContainedProcess,
    spec: ChildSpec,
  ) {
    const stdout = outputOf('stdout', process, spec);
    this.#stderr = outputOf('stderr', process, spec);
    const channelEnded = process.channel && readChannel(process.channel, spec.scheduler, spec.onMessage);
    this.quiet = Promise.all([stdout.ended, this.#stderr.ended, channelEnded]);
  }

  /** Throws `BatonError`. */
  static async start(spec: ChildSpec): Promise<ExecutorChild> {
    const { context, dir: cwd, entry } = spec;
    const { env } = context.environment(variablesFor(spec));
    const program = { file: process.execPath, args: [entry], env, cwd, stdin: 'ignore', channel: true } as const;
    return new ExecutorChild(await context.start(program), spec);
  }

  get exited(): Promise<ExitStatus> {
    return this.process.exited;
  }

  get stderrTail(): string {
    return this.#stderr.tail;
  }

  async stop(): Promise<void> {
    await this.process.stop(STOP);
  }
}

function outputOf(stream: 'stdout' | 'stderr', process: ContainedProcess, spec: ChildSpec): ChildOutput {
  const { context, executionId, scheduler } = spec;
  return new ChildOutput(process[stream], scheduler, {
    onLine: (text) => context.audit('capability_output', { execution_id: executionId, stream, text }),
    onLimit: () =>
      context.audit('capability_output', {
        ...{ execution_id: executionId, stream, truncated: true },
        text: 'The limit for console output is reached; further lines are dropped.',
      }),
    onBytes: () => spec.onOutput(),
  });
}

/** Reads the messages of a child's IPC channel and skips everything that is not a JSON object. Resolves at the end of the channel. */
function readChannel(channel: Duplex, scheduler: FairScheduler, onMessage: (message: Fields) => void): Promise<void> {
  const splitter = new LineSplitter(MAX_LINE_BYTES);
  return new Promise((resolve) => {
    readFairly(channel, scheduler, {
      onChunk: (chunk) => {
        for (const line of splitter.push(chunk)) {
          const message = parseObject(line);
          if (message !== null) onMessage(message);
        }
        return undefined;
      },
      onEnd: resolve,
    });
  });
}

function variablesFor({ sideExecutionId, dir, context, ticket, clientPath }: ChildSpec): { [name: string]: string } {
  const { threadId, agentId, agentInstanceId } = parentOf(context);
  return {
    SOCKET_PORT: String(ticket.port),
    IS_SIDE_EXECUTION: 'true',
    SIDE_EXECUTION_ID: sideExecutionId,
    THREAD_ID: threadId,
    PARENT_AGENT_ID: agentId,
    PARENT_AGENT_INSTANCE_ID: agentInstanceId,
    ACTION_BLOCK_PATH: dir,
    threadToken: ticket.token,
    BATON_CAPABILITY_CLIENT: clientPath,
  };
}

const MAX_LINE_CHARACTERS = 4_000;
const MAX_TOTAL_CHARACTERS = 1_000_000;
/** The size of a line in the transcript besides its text. */
const CHARACTERS_PER_LINE = 100;
const TAIL_CHARACTERS = 8_000;

/** The console output of a child as lines, up to a limit. Further output is read and dropped, so that the child never blocks. */
class ChildOutput {
  /** The end of the output, for the error message. */
  tail = '';
  readonly ended: Promise<void>;
  readonly #decoder = new StringDecoder('utf8');
  #partial = '';
  #keptCharacters = 0;

  constructor(
    stream: Readable,
    scheduler: FairScheduler,
    private readonly listener: { onLine(text: string): void; onLimit(): void; onBytes(): void },
  ) {
    this.ended = new Promise((resolve) => {
      readFairly(stream, scheduler, {
        onChunk: (chunk) => this.#push(this.#decoder.write(chunk)),
        onEnd: () => {
          this.#push(`${this.#decoder.end()}\n`);
          resolve();
        },
      });
    });
  }

  #push(text: string): undefined {
    this.listener.onBytes();
    this.tail = (this.tail + text).slice(-TAIL_CHARACTERS);
    const lines = (this.#partial + text).split('\n');
    this.#partial = lines.pop() ?? '';
    for (const line of lines) this.#keep(this.#keepPieces(line));
    this.#partial = this.#keepPieces(this.#partial);
  }

  /** Keeps a long line in pieces, and returns the rest of it. */
  #keepPieces(line: string): string {
    let at = 0;
    for (; line.length - at > MAX_LINE_CHARACTERS; at += MAX_LINE_CHARACTERS) {
      this.#keep(line.slice(at, at + MAX_LINE_CHARACTERS));
    }
    return line.slice(at);
  }

  #keep(text: string): void {
    if (text.trim() === '' || this.#keptCharacters >= MAX_TOTAL_CHARACTERS) return;
    this.#keptCharacters += text.length + CHARACTERS_PER_LINE;
    if (this.#keptCharacters < MAX_TOTAL_CHARACTERS) this.listener.onLine(text);
    else this.listener.onLimit();
  }
}

/** For an executor the step is its parent agent, and the run is its thread. */
interface ParentIdentity {
  readonly threadId: string;
  readonly agentId: string;
  readonly agentInstanceId: string;
}

export function parentOf({ runId, step }: StepContext): ParentIdentity {
  return { threadId: runId, agentId: step.id, agentInstanceId: `${runId}-${step.index}` };
}

interface Invocation {
  readonly sideExecutionId: string;
  /** Name of the executor. */
  readonly name: string;
  readonly params: JsonObject;
}

/** The first message to a child that has connected: the arguments of its handler. It may be large. */
export function invocationMessage({ sideExecutionId, name, params }: Invocation, context: StepContext): JsonObject {
  const { threadId, agentId, agentInstanceId } = parentOf(context);
  const timestamp = new Date(context.clock.now().wallMs).toISOString();
  const facts = {
    sideExecutionId,
    threadId,
    parentAgentId: agentId,
    parentAgentInstanceId: agentInstanceId,
    timestamp,
  };
  return {
    type: 'actionBlockInvocation',
    ...facts,
    actionBlockName: name,
    params,
    threadContext: {
      threadId,
      messages: context.messages().map((message) => ({ ...message, threadId })),
      projectPath: context.workspace,
      agentId,
      agentInstanceId,
      metadata: metadataOf(context),
      params,
    },
    metadata: facts,
  };
}

function metadataOf({ issue, runId, attempt, step }: StepContext): JsonObject {
  const { id, identifier, title, state, url } = issue;
  return { runId, attempt, stepId: step.id, issue: { id, identifier, title, state, url } };
}
