import { setMaxListeners } from 'node:events';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { TimeLimit } from '../../../src/domain/clock.js';
import { BatonError, type ErrorCode, toBatonError } from '../../../src/domain/errors.js';
import { type Fields, fieldsOf, type Json, type JsonObject } from '../../../src/domain/json.js';
import type { ExitStatus } from '../../contain/process.js';
import type { StepContext } from '../executor.js';
import type { FairScheduler } from '../read-lines.js';
import { ExecutorChild, invocationMessage, parentOf } from './executor-child.js';
import type { CapabilityHub, Ticket } from './hub.js';
import { Peer } from './peer.js';

/**
 * One child that runs an executor, from its start to its end.
 *
 *   starting ── connects ──▶ running ── answers ──▶ completed, failed
 *       │                       ├── exits without an answer ──▶ failed
 *       │                       └── time is over ──▶ stopping ──▶ timeout
 *       ├── does not connect, exits ──▶ failed
 *       └── aborted, at any time ──▶ stopping ──▶ stopped
 *
 * The first end that is known counts, and later ones are ignored. It is told only when nothing of the child is left: neither the
 * process nor what it asked of us. An answer on the IPC channel is as good as one on the socket.
 */
/** For a child that has answered to exit by itself, and for the last messages of one that has exited. */
const LAST_WORDS_MS = 1_000;
const MAX_WARNINGS = 5;

export interface SideExecutionSpec {
  readonly id: string;
  /** The id that people know it by: of the capability, else its own. */
  readonly executionId: string;
  readonly executor: { readonly name: string; readonly dir: string; readonly entryPoint: string };
  readonly params: JsonObject;
  readonly context: StepContext;
  /** Aborted when it must end. */
  readonly signal: AbortSignal;
  readonly timeoutMs: number | null;
}

interface SideExecutionDeps {
  readonly hub: CapabilityHub;
  readonly scheduler: FairScheduler;
  /** Module that an executor may import to talk to us. */
  readonly clientPath: string;
  onRunning(): void;
  onStopping(): void;
  /** Answers a request of the child. Never rejects; ends soon after `ended` is aborted. */
  answer(request: Fields, ended: AbortSignal): Promise<JsonObject>;
}

/** Never rejects. */
export function runSideExecution(spec: SideExecutionSpec, deps: SideExecutionDeps): Promise<SideEnd> {
  return new SideExecution(spec, deps).run();
}

class SideExecution {
  readonly #ended: Promise<SideEnd>;
  #end: SideEnd | null = null;
  #tellEnd: (end: SideEnd) => void = () => {};
  #hasAnswered = false;
  readonly #calls = new AbortController();
  readonly #open = new Set<Promise<void>>();
  readonly #timers: (() => void)[] = [];
  #ticket: Ticket | null = null;
  #child: ExecutorChild | null = null;
  #peer: Peer | null = null;
  #warnings = 0;

  constructor(
    private readonly spec: SideExecutionSpec,
    private readonly deps: SideExecutionDeps,
  ) {
    this.#ended = new Promise((resolve) => {
      this.#tellEnd = resolve;
    });
    // One for each call that is open, and the peer limits those.
    setMaxListeners(0, this.#calls.signal);
  }

  async run(): Promise<SideEnd> {
    const { signal } = this.spec;
    const onAbort = () => this.#settle(endOfAbort(signal.reason));
    signal.addEventListener('abort', onAbort, { once: true });
    if (signal.aborted) onAbort();
    try {
      if (this.#end === null) await this.#start();
    } catch (error) {
      const { code, message } = toBatonError(error);
      this.#settle(failSideExecution(code, message));
    }
    const end = await this.#ended;
    signal.removeEventListener('abort', onAbort);
    await this.#finish();
    return end;
  }

  async #start(): Promise<void> {
    const { executor, context, timeoutMs } = this.spec;
    const entry = join(executor.dir, executor.entryPoint);
    const isThere = await stat(entry).then(
      (found) => found.isFile(),
      () => false,
    );
    if (!isThere) {
      throw new BatonError('ACTION_BLOCK_NOT_FOUND', `${entry} is not there; build the executor ${executor.name}`);
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
    void this.#untilExit(child); // Never rejects; over before the execution is.
    if (timeoutMs !== null) this.#after(timeoutMs, () => timedOut(`it took longer than ${timeoutMs} ms`));
    this.#after(connectTimeoutMs, () =>
      this.#peer === null
        ? failSideExecution(
            'CONNECTION_FAILED',
            `the executor ${executor.name} did not connect within ${connectTimeoutMs} ms`,
          )
        : null,
    );
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
          onGarbage: () => this.#warn('an executor sent messages that are no JSON objects and was cut off'),
        });
        if (this.#end === null) this.#connected(peer);
        else peer.end();
      },
    });
    return this.#ticket;
  }

  #connected(peer: Peer): void {
    const { id, executor, params, context } = this.spec;
    this.#peer = peer;
    this.deps.onRunning();
    this.#progress();
    void peer.send(invocationMessage({ sideExecutionId: id, name: executor.name, params }, context)); // Never rejects.
  }

  async #receive(message: Fields): Promise<void> {
    this.#progress();
    if (this.#complete(message) || this.#end !== null) return;
    const answered = this.deps.answer(message, this.#calls.signal).then((reply) => this.#peer?.send(reply));
    this.#open.add(answered);
    await answered;
    this.#open.delete(answered);
    this.#progress();
  }

  /** Was it the answer to the invocation? */
  #complete(message: Fields): boolean {
    const end = endOfMessage(message);
    if (end === null) return false;
    const { sideExecutionId = this.spec.id } = message;
    if (sideExecutionId !== this.spec.id || this.#end !== null) {
      this.#warn('an answer for an execution that is unknown or over was ignored');
      return true;
    }
    this.#hasAnswered = true;
    this.#settle(end);
    return true;
  }

  async #untilExit(child: ExecutorChild): Promise<void> {
    const status = await child.exited;
    // It may have connected and answered just before its end: what is under way is heard first.
    await this.#within(Promise.all([child.quiet, this.#peer?.closed]));
    this.#settle(endOfExit(status, child.stderrTail, this.#peer !== null));
  }

  async #finish(): Promise<void> {
    for (const cancel of this.#timers) cancel();
    this.#ticket?.close();
    this.#calls.abort();
    if (this.#child !== null) {
      if (this.#hasAnswered) await this.#within(this.#child.exited);
      else this.deps.onStopping();
      await this.#child.stop();
      await this.#within(this.#child.quiet);
    }
    this.#peer?.end();
    await Promise.all(this.#open);
  }

  #settle(end: SideEnd): void {
    if (this.#end !== null) return;
    this.#end = end;
    this.#tellEnd(end);
  }

  #after(ms: number, end: () => SideEnd | null): void {
    const over = () => {
      const reached = end();
      if (reached !== null) this.#settle(reached);
    };
    this.#timers.push(this.spec.context.clock.after(ms, over));
  }

  async #within(work: Promise<unknown>): Promise<void> {
    const limit = new TimeLimit(this.spec.context.clock, LAST_WORDS_MS);
    await limit.race(work);
    limit.end();
  }

  #progress(): void {
    if (this.#end === null) this.spec.context.emit({ type: 'progress', openItems: 0 });
  }

  #warn(message: string): void {
    this.#warnings += 1;
    if (this.#warnings > MAX_WARNINGS) return;
    this.spec.context.warn(message, { execution_id: this.spec.executionId, side_execution_id: this.spec.id });
  }
}

/** How an execution ended. */
export type SideEnd =
  | { readonly state: 'completed'; readonly result: Json; readonly additionalContext?: Json }
  | { readonly state: 'failed'; readonly code: ErrorCode; readonly message: string }
  /** Its own limit, or that of the step. */
  | { readonly state: 'timeout'; readonly code: 'EXECUTION_TIMEOUT'; readonly message: string }
  /** Ended from outside; `reason` is that of the signal. */
  | { readonly state: 'stopped'; readonly code: 'INTERRUPTED'; readonly message: string; readonly reason: unknown };

const MAX_MESSAGE_CHARACTERS = 4_000;

export function failSideExecution(code: ErrorCode, message: string): SideEnd {
  return { state: 'failed', code, message: cut(message) };
}

/** What the signal of an execution was aborted for. */
function endOfAbort(reason: unknown): SideEnd {
  if (reason === 'step_timeout') return timedOut('it took longer than timeout_s of its step');
  return { state: 'stopped', code: 'INTERRUPTED', message: 'it was stopped', reason };
}

function timedOut(message: string): SideEnd {
  return { state: 'timeout', code: 'EXECUTION_TIMEOUT', message };
}

/** `actionBlockComplete` and its twins on the channel; `null`: some other message. */
export function endOfMessage(message: Fields): SideEnd | null {
  const { type, result, error } = message;
  if (type === 'sideExecutionError')
    return failSideExecution('CAPABILITY_FAILED', textOfError(error ?? message.message));
  if (type !== 'actionBlockComplete' && type !== 'sideExecutionComplete') return null;
  if (error !== undefined && error !== null && error !== false)
    return failSideExecution('CAPABILITY_FAILED', textOfError(error));
  const { result: inner, additionalContext, ...others } = fieldsOf(result) as { readonly [key: string]: Json };
  // Only what is nothing but these two: a result with more members is one as a whole.
  if (additionalContext !== undefined && Object.keys(others).length === 0) {
    return { state: 'completed', result: inner ?? null, additionalContext };
  }
  return { state: 'completed', result: (result ?? null) as Json };
}

/**
 * What it means that a child ended without an answer. Node.js tells of code that it cannot compile on stderr, with nothing but
 * its own frames below: a SyntaxError that the code itself ran into (`JSON.parse`) has others.
 */
function endOfExit(status: ExitStatus, stderr: string, wasConnected: boolean): SideEnd {
  const complaint = wasConnected || status.code === 0 ? null : syntaxError(stderr);
  if (complaint !== null) return failSideExecution('SYNTAX_ERROR', complaint);
  const how = status.signal === null ? `exited with code ${status.code}` : `was killed by ${status.signal}`;
  const when = wasConnected ? 'before it answered' : 'before it connected';
  return failSideExecution('PROCESS_CRASHED', `the executor ${how} ${when}`);
}

function textOfError(error: unknown): string {
  if (typeof error === 'string' && error !== '') return error;
  const { message } = fieldsOf(error);
  if (typeof message === 'string' && message !== '') return message;
  return error === undefined || error === null || error === '' ? 'it gives no reason' : JSON.stringify(error);
}

function syntaxError(stderr: string): string | null {
  const lines = stderr.split('\n');
  const at = lines.findLastIndex((line) => line.startsWith('SyntaxError: '));
  if (at < 0 || !/^\s+at .*\bnode:internal\//.test(lines[at + 1] ?? '')) return null;
  const place = lines.slice(0, at).findLast((line) => /^(?:file:\/\/)?\/.*:\d+$/.test(line));
  return place === undefined ? (lines[at] ?? '') : `${place}: ${lines[at]}`;
}

function cut(text: string): string {
  return text.length > MAX_MESSAGE_CHARACTERS ? `${text.slice(0, MAX_MESSAGE_CHARACTERS)} …` : text;
}
