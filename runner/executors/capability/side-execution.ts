import { setMaxListeners } from 'node:events';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { TimeLimit } from '../../../src/domain/clock.js';
import { BatonError, toBatonError } from '../../../src/domain/errors.js';
import type { Fields, JsonObject } from '../../../src/domain/json.js';
import type { StepContext } from '../executor.js';
import type { FairScheduler } from '../read-lines.js';
import { type ExecutionEnd, endOfAbort, endOfExit, endOfMessage, failExecution, timedOut } from './execution-end.js';
import { ExecutorChild, invocationMessage, parentOf } from './executor-child.js';
import type { CapabilityHub, Ticket } from './hub.js';
import { Peer } from './peer.js';

/** Time for the last messages of a child that has exited. */
const DRAIN_MS = 1_000;
/** An executor that sends nothing for this long after its invocation probably has no handler. */
const SILENT_MS = 10_000;
const SILENT = `an executor was invoked and has sent nothing for ${SILENT_MS / 1_000} s; it may have registered no handler`;
const MAX_WARNINGS = 5;

export interface SideExecutionSpec {
  readonly id: string;
  /** The id for people: that of the capability, or without one the id of the side execution. */
  readonly executionId: string;
  readonly executor: { readonly name: string; readonly dir: string; readonly entryPoint: string };
  readonly params: JsonObject;
  readonly context: StepContext;
  /** Aborted when the execution must end. */
  readonly signal: AbortSignal;
  readonly timeoutMs: number | null;
}

interface SideExecutionDeps {
  readonly hub: CapabilityHub;
  readonly scheduler: FairScheduler;
  /** The module that executors import to talk to Baton. */
  readonly clientPath: string;
  onRunning(): void;
  onStopping(): void;
  /** Answers a request of the child. Never rejects, and ends soon after `ended` is aborted. */
  answer(request: Fields, ended: AbortSignal): Promise<JsonObject>;
}

export interface EndedExecution {
  readonly end: ExecutionEnd;
  /** Settles when the process is gone, which can be later: an executor that has answered may take its time to exit. Never rejects. */
  readonly gone: Promise<void>;
}

/** Runs an executor to its end. Never rejects. */
export function runSideExecution(spec: SideExecutionSpec, deps: SideExecutionDeps): Promise<EndedExecution> {
  return new SideExecution(spec, deps).run();
}

/**
 * One child process that runs an executor.
 *
 *   starting ── connects ──▶ connected ── answers a ping ──▶ running ── answers ──▶ completed, failed
 *       │                        │                              ├── exits without an answer ──▶ failed
 *       ├────────────────────────┴── time is over, exits ──▶ failed
 *       │                                                       └── time is over ──▶ stopping ──▶ timeout
 *       └── aborted, at any time ──▶ stopping ──▶ stopped
 *
 * Only the first end counts. It is returned when all open requests of the child are over, and, unless the child has answered, when its
 * process is gone. A child that has answered gets SIGTERM at once. An answer may come over the socket or the IPC channel.
 */
class SideExecution {
  readonly #ended: Promise<ExecutionEnd>;
  #end: ExecutionEnd | null = null;
  #resolveEnded: (end: ExecutionEnd) => void = () => {};
  #hasAnswered = false;
  readonly #calls = new AbortController();
  readonly #open = new Set<Promise<void>>();
  readonly #timers: (() => void)[] = [];
  #ticket: Ticket | null = null;
  #child: ExecutorChild | null = null;
  #peer: Peer | null = null;
  #isReading = false;
  #hasSent = false;
  #warnings = 0;

  constructor(
    private readonly spec: SideExecutionSpec,
    private readonly deps: SideExecutionDeps,
  ) {
    this.#ended = new Promise((resolve) => {
      this.#resolveEnded = resolve;
    });
    // Each open call adds a listener. The peer limits the number of open calls.
    setMaxListeners(0, this.#calls.signal);
  }

  async run(): Promise<EndedExecution> {
    const { signal } = this.spec;
    const onAbort = () => this.#settle(endOfAbort(signal.reason));
    signal.addEventListener('abort', onAbort, { once: true });
    if (signal.aborted) onAbort();
    try {
      if (this.#end === null) await this.#start();
    } catch (error) {
      const { code, message } = toBatonError(error);
      this.#settle(failExecution(code, message));
    }
    const end = await this.#ended;
    signal.removeEventListener('abort', onAbort);
    for (const cancel of this.#timers) cancel();
    this.#ticket?.close();
    this.#calls.abort();
    if (!this.#hasAnswered) this.deps.onStopping();
    const gone = this.#stopChild().catch((error: unknown) =>
      this.#warn('an executor could not be stopped', {
        executor: this.spec.executor.name,
        detail: toBatonError(error).message,
      }),
    );
    if (!this.#hasAnswered) await gone;
    await Promise.all(this.#open);
    return { end, gone };
  }

  async #start(): Promise<void> {
    const { executor, context, timeoutMs } = this.spec;
    const entry = join(executor.dir, executor.entryPoint);
    const isFile = await stat(entry).then(
      (stats) => stats.isFile(),
      () => false,
    );
    if (!isFile) {
      throw new BatonError('ACTION_BLOCK_NOT_FOUND', `${entry} does not exist; build the executor ${executor.name}`);
    }
    const { connectTimeoutMs } = context.config.capabilities;
    const ticket = await this.#admit(connectTimeoutMs);
    if (this.#end !== null) return;
    const { id: sideExecutionId, executionId } = this.spec;
    const { clientPath, scheduler } = this.deps;
    const child = await ExecutorChild.start({
      ...{ sideExecutionId, executionId, dir: executor.dir, entry, context, ticket, clientPath, scheduler },
      onMessage: (message) => void this.#complete(message),
      onOutput: () => this.#progress(),
    });
    this.#child = child;
    this.#progress();
    void this.#settleOnExit(child); // Never rejects; ends before the execution does.
    if (timeoutMs !== null) this.#after(timeoutMs, () => timedOut(`it took longer than ${timeoutMs} ms`));
    this.#after(connectTimeoutMs, () => {
      if (this.#isReading) return null;
      const missing = this.#peer === null ? 'did not connect' : 'connected, but answered no ping';
      return failExecution(
        'CONNECTION_FAILED',
        `the executor ${executor.name} ${missing} within ${connectTimeoutMs} ms`,
      );
    });
  }

  async #admit(validForMs: number): Promise<Ticket> {
    const { id, context } = this.spec;
    const { threadId, agentId } = parentOf(context);
    const { clock } = context;
    this.#ticket = await this.deps.hub.admit({
      ...{ sideExecutionId: id, threadId, parentAgentId: agentId, validForMs, clock },
      onConnection: (socket) => {
        const peer = new Peer(socket, {
          onMessage: (message) => this.#receive(message),
          onDisconnect: () => this.#warn('an executor was disconnected because its messages are not JSON objects'),
        });
        if (this.#end === null)
          void this.#invoke(peer); // Never rejects.
        else peer.end();
      },
    });
    return this.#ticket;
  }

  async #invoke(peer: Peer): Promise<void> {
    const { id, executor, params, context } = this.spec;
    this.#peer = peer;
    this.#progress();
    await peer.untilReading();
    if (this.#end !== null) return;
    this.#isReading = true;
    this.deps.onRunning();
    this.#progress();
    await peer.send(invocationMessage({ sideExecutionId: id, name: executor.name, params }, context));
    this.#after(SILENT_MS, () => {
      if (!this.#hasSent) this.#warn(SILENT, { executor: executor.name });
      return null;
    });
  }

  async #receive(message: Fields): Promise<void> {
    this.#progress();
    this.#hasSent = true;
    if (this.#complete(message) || this.#end !== null) return;
    const answered = this.deps.answer(message, this.#calls.signal).then((reply) => this.#peer?.send(reply));
    this.#open.add(answered);
    await answered;
    this.#open.delete(answered);
    this.#progress();
  }

  /** Returns true when the message is the answer to the invocation. */
  #complete(message: Fields): boolean {
    const end = endOfMessage(message);
    if (end === null) return false;
    const { sideExecutionId = this.spec.id } = message;
    if (sideExecutionId !== this.spec.id || this.#end !== null) {
      this.#warn('an answer for an unknown or ended execution was ignored');
      return true;
    }
    this.#hasAnswered = true;
    this.#settle(end);
    return true;
  }

  async #settleOnExit(child: ExecutorChild): Promise<void> {
    const status = await child.exited;
    // It may have answered just before its end: process the messages that are under way first.
    await this.#within(Promise.all([child.quiet, this.#peer?.closed]));
    this.#settle(endOfExit(status, child.stderrTail, this.#peer !== null));
  }

  async #stopChild(): Promise<void> {
    try {
      await this.#child?.stop();
      if (this.#child !== null) await this.#within(Promise.all([this.#child.quiet, this.#peer?.closed]));
    } finally {
      this.#peer?.end();
    }
  }

  #settle(end: ExecutionEnd): void {
    if (this.#end !== null) return;
    this.#end = end;
    this.#resolveEnded(end);
  }

  /** Calls `end` after `ms`, unless the execution ends first. An end that it returns is the end of the execution. */
  #after(ms: number, end: () => ExecutionEnd | null): void {
    if (this.#end !== null) return;
    const onTimeout = () => {
      const reached = end();
      if (reached !== null) this.#settle(reached);
    };
    this.#timers.push(this.spec.context.clock.after(ms, onTimeout));
  }

  async #within(work: Promise<unknown>): Promise<void> {
    const limit = new TimeLimit(this.spec.context.clock, DRAIN_MS);
    await limit.race(work);
    limit.end();
  }

  #progress(): void {
    if (this.#end === null) this.spec.context.emit({ type: 'progress', openItems: 0 });
  }

  #warn(message: string, fields: { readonly [name: string]: string } = {}): void {
    this.#warnings += 1;
    if (this.#warnings > MAX_WARNINGS) return;
    const ids = { execution_id: this.spec.executionId, side_execution_id: this.spec.id };
    this.spec.context.warn(message, { ...ids, ...fields });
  }
}
