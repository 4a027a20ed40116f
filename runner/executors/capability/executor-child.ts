import type { Duplex } from 'node:stream';
import type { Fields } from '../../../src/domain/fields.js';
import type { ContainedProcess, ExitStatus } from '../../contain/process.js';
import { type FairScheduler, readFairly } from '../codex/fair-reader.js';
import { LineSplitter } from '../read-lines.js';
import type { StepContext } from '../executor.js';
import { parseObject } from './bounded-json.js';
import { ChildOutput } from './child-output.js';
import type { Ticket } from './hub.js';
import { parentOf } from './invocation.js';

/** SIGKILL comes 3 s after SIGTERM, and 2 s later it must be over. */
const STOP = { eofMs: 0, termMs: 3_000, killMs: 2_000 } as const;

const MAX_LINE_BYTES = 16 * 1024 * 1024;

export interface ChildSpec {
  readonly sideExecutionId: string;
  /** For the transcript. */
  readonly executionId: string;
  /** Folder and file of the executor. */
  readonly dir: string;
  readonly entry: string;
  readonly context: StepContext;
  readonly ticket: Ticket;
  readonly clientPath: string;
  readonly scheduler: FairScheduler;
  onMessage(message: Fields): void;
  /** It printed something. */
  onOutput(): void;
}

/** The process of an executor, with its console output and its channel. */
export class ExecutorChild {
  /** All that it printed, and sent on its channel, has been told. */
  readonly quiet: Promise<unknown>;
  readonly #stderr: ChildOutput;

  private constructor(
    private readonly process: ContainedProcess,
    spec: ChildSpec,
  ) {
    const stdout = outputOf('stdout', process, spec);
    this.#stderr = outputOf('stderr', process, spec);
    const channelEnded = process.channel && hearChannel(process.channel, spec.scheduler, spec.onMessage);
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
    onBytes: () => spec.onOutput(),
  });
}

/** Hears the messages of a child's IPC channel. What is no JSON object is left out. Settles at its end. */
function hearChannel(channel: Duplex, scheduler: FairScheduler, onMessage: (message: Fields) => void): Promise<void> {
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
