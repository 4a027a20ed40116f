import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { BatonError } from '../../domain/errors.js';
import { lastLines, shown } from '../../text/neutralise.js';
import type { ProgramProcess } from '../program.js';
import { isChange, type ProgramReply, type ProgramRequest, requestLine } from './protocol.js';
import { NoAnswerError, ProgramSession } from './session.js';

interface QueueOptions {
  start(): Promise<ProgramProcess>;
  /** For each request once it has its turn, including a start of the program. */
  readonly timeoutMs: number;
  mask(text: string): string;
}

/** A change is at most three requests, so two changes may overtake a read. */
const MAX_OVERTAKES = 6;
const MAX_QUOTED_BYTES = 4_000;

/**
 * Sends requests to the program, one at a time. A request that fails takes its process with it: the next one gets a new process
 * as soon as the old one is gone. Changes overtake reads, so that a slow list delays an agent by one timeout at most; but only
 * some of them, so that agents cannot keep the daemon from polling.
 *
 * `#staysAlive` is whether the program stays after an answer; it is null until that is known. A request may be sent while the
 * process is about to exit: a read is then sent again, once. A change is never sent twice, so it goes only to a new process or
 * to one that is known to stay.
 */
export class RequestQueue {
  readonly #options: QueueOptions;
  readonly #waiting: PendingRequest[] = [];
  #current: PendingRequest | null = null;
  #working: Promise<void> | null = null;
  #session: ProgramSession | null = null;
  /** Settles when no process is being started or stopped. */
  #settled: Promise<void> = Promise.resolve();
  #staysAlive: boolean | null = null;
  #nextId = 1;
  /** Changes that have overtaken the oldest waiting read. */
  #overtakes = 0;
  #isClosed = false;

  constructor(options: QueueOptions) {
    this.#options = options;
  }

  /** Returns an error of the program as a reply. Throws `tracker_request` or `tracker_response` when there is none. */
  async send(request: ProgramRequest, signal: AbortSignal): Promise<ProgramReply> {
    const pending = new PendingRequest(request);
    const cancel = () => this.#fail(pending, CANCELLED);
    if (this.#isClosed) this.#fail(pending, SHUTTING_DOWN);
    else if (signal.aborted) cancel();
    else {
      this.#waiting.push(pending);
      this.#working ??= this.#work();
    }
    signal.addEventListener('abort', cancel, { once: true });
    try {
      return await pending.reply;
    } finally {
      signal.removeEventListener('abort', cancel);
    }
  }

  /** Fails all requests and ends the program. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const pending of [...this.#waiting, ...(this.#current ? [this.#current] : [])])
      this.#fail(pending, SHUTTING_DOWN);
    await this.#working;
    this.#discardSession();
    await this.#settled;
  }

  async #work(): Promise<void> {
    for (let pending = this.#takeNext(); pending !== undefined; pending = this.#takeNext()) {
      const current = pending;
      this.#current = current;
      const { timeoutMs } = this.#options;
      const timeout = new NoAnswerError('timeout', `did not answer within ${timeoutMs / 1000} s`);
      const timer = setTimeout(() => this.#fail(current, timeout), timeoutMs);
      await Promise.race([this.#exchange(current), current.settled]);
      clearTimeout(timer);
      this.#current = null;
      // The caller may now send the next request of a change, which goes first.
      await yieldToEventLoop();
    }
    this.#working = null;
  }

  #takeNext(): PendingRequest | undefined {
    const urgent = this.#waiting.findIndex(({ request }) => request.isUrgent);
    const patient = this.#waiting.findIndex(({ request }) => !request.isUrgent);
    const overtakes = urgent !== -1 && patient !== -1 && this.#overtakes < MAX_OVERTAKES;
    this.#overtakes = overtakes ? this.#overtakes + 1 : 0;
    const at = overtakes || patient === -1 ? urgent : patient;
    return this.#waiting.splice(Math.max(at, 0), 1)[0];
  }

  /** Never rejects. A request that was cancelled meanwhile has already discarded the session. */
  async #exchange(pending: PendingRequest): Promise<void> {
    try {
      while (!pending.isSettled) {
        const reply = await this.#attempt(pending);
        if (reply !== null && !pending.isSettled) pending.resolve(reply);
      }
    } catch (error) {
      this.#fail(pending, error instanceof NoAnswerError ? error : startError(error));
    }
  }

  /** Returns null when the request was cancelled or must be sent again. */
  async #attempt(pending: PendingRequest): Promise<ProgramReply | null> {
    const session = await this.#sessionFor(pending);
    if (session === null || pending.isSettled) return null;
    const isFirst = session.answers === 0;
    try {
      const reply = await session.send(this.#nextId, requestLine(this.#nextId++, pending.request));
      if (session.answers > 1) this.#staysAlive = true;
      if (this.#staysAlive === false && !pending.isSettled) this.#discardSession();
      return reply;
    } catch (error) {
      if (pending.isSettled) return null;
      const isSilentEnd = error instanceof NoAnswerError && error.reason === 'ended';
      if (!isSilentEnd || isFirst || this.#staysAlive !== null) {
        // A program that used to stay may have changed.
        this.#staysAlive &&= null;
        throw error;
      }
      this.#staysAlive = false;
      this.#discardSession();
      return null;
    }
  }

  /** Returns null when the request was cancelled meanwhile. */
  async #sessionFor(pending: PendingRequest): Promise<ProgramSession | null> {
    const session = this.#session;
    if (session !== null) {
      if (session.hasEnded && session.answers === 1) this.#staysAlive ??= false;
      const mayStay =
        session.answers === 0 || this.#staysAlive === true || (this.#staysAlive === null && !isChange(pending.request));
      if (session.isUsable && mayStay) return session;
      this.#discardSession();
    }
    await this.#settled;
    if (pending.isSettled) return null;
    const starting = this.#options.start().then((process) => new ProgramSession(process));
    // A request that is cancelled during the start leaves a process without a request.
    this.#settled = starting.then(
      (started) => {
        if (pending.isSettled) return started.stop();
        this.#session = started;
      },
      () => {},
    );
    return starting;
  }

  #discardSession(): void {
    const session = this.#session;
    if (session === null) return;
    this.#session = null;
    const stopped = session.stop();
    this.#settled = this.#settled.then(() => stopped);
  }

  #fail(pending: PendingRequest, { reason, message, line }: NoAnswerError): void {
    if (pending.isSettled) return;
    const at = this.#waiting.indexOf(pending);
    if (at !== -1) this.#waiting.splice(at, 1);
    const { mask } = this.#options;
    const isCurrent = this.#current === pending;
    const stderr = isCurrent && this.#session ? lastLines(this.#session.stderrText(), mask) : '';
    const quoted = line === null ? '' : `: "${shown(line.toString('utf8', 0, MAX_QUOTED_BYTES), mask)}"`;
    const problem = `The tracker program failed at ${pending.request.method}: it ${mask(message)}${quoted}.`;
    const detail = stderr === '' ? '' : ` The end of its stderr: ${stderr}`;
    // A late answer must not be taken for the answer to another request.
    if (isCurrent) this.#discardSession();
    const code = reason === 'bad_answer' ? 'tracker_response' : 'tracker_request';
    pending.reject(new BatonError(code, `${problem}${this.#isClosed ? '' : ADVICE}${detail}`));
  }
}

const ADVICE = ' Look at it with `baton tracker test`.';
const CANCELLED = new NoAnswerError('cancelled', 'had not answered when the request was cancelled');
const SHUTTING_DOWN = new NoAnswerError('cancelled', 'had not answered when Baton shut down');

function startError(error: unknown): NoAnswerError {
  const reason = error instanceof Error ? error.message : String(error);
  return new NoAnswerError('not_started', `could not be started: ${reason}`);
}

/** Settled once: by its reply, or by the failure or cancellation of the request. */
class PendingRequest {
  readonly reply: Promise<ProgramReply>;
  /** Resolves when `reply` settles, and never rejects. */
  readonly settled: Promise<void>;
  #isSettled = false;
  #resolve: (reply: ProgramReply) => void = () => {};
  #reject: (error: Error) => void = () => {};

  constructor(readonly request: ProgramRequest) {
    this.reply = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    const end = () => {};
    this.settled = this.reply.then(end, end);
  }

  get isSettled(): boolean {
    return this.#isSettled;
  }

  resolve(reply: ProgramReply): void {
    this.#isSettled = true;
    this.#resolve(reply);
  }

  reject(error: Error): void {
    this.#isSettled = true;
    this.#reject(error);
  }
}
