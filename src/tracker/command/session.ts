import type { ProgramProcess } from '../program.js';
import { type PipeEnd, ProgramPipe } from './program-pipe.js';
import { isBlank, type ProgramReply, parseReply } from './protocol.js';

type NoAnswerReason =
  /** The caller gave the request up, or Baton shuts down. */
  | 'cancelled'
  | 'not_started'
  | 'timeout'
  /** The process ended without a word about the request. */
  | 'ended'
  /** The process ended in the middle of its answer. */
  | 'cut_off'
  /** The process wrote something that is not the answer. */
  | 'bad_answer';

/** A request without an answer. The message continues "the program failed at …: it …". */
export class NoAnswerError extends Error {
  override readonly name = 'NoAnswerError';

  constructor(
    readonly reason: NoAnswerReason,
    message: string,
    /** The line that caused the failure. */
    readonly line: Buffer | null = null,
  ) {
    super(message);
  }
}

interface OpenRequest {
  readonly id: number;
  resolve(reply: ProgramReply): void;
  reject(error: NoAnswerError): void;
}

/** A program that repeats itself more often is faulty. */
const MAX_IGNORED = 10_000;
const MAX_SHOWN_ID = 40;

/**
 * One process, which gets one request at a time. The first line after a request must be its answer; otherwise the process is out
 * of step and is stopped, so that no later line can be taken for an answer. The same holds for a line without a request. Only
 * blank lines and repeated answers are ignored.
 */
export class ProgramSession {
  readonly #pipe: ProgramPipe;
  #open: OpenRequest | null = null;
  /** The ids of the answered requests, `to` excluded. */
  #answeredIds = { from: Number.NaN, to: Number.NaN };
  #answers = 0;
  #ignored = 0;
  #isInStep = true;
  #end: string | null = null;

  constructor(process: ProgramProcess) {
    this.#pipe = new ProgramPipe(process, {
      onLine: (line) => this.#takeLine(line),
      onEnd: (end) => this.#finish(end),
    });
  }

  /** The number of answered requests. */
  get answers(): number {
    return this.#answers;
  }

  /** A process that answered without reading the whole request will not read the next one either. */
  get isUsable(): boolean {
    return this.#isInStep && this.#end === null && this.#pipe.isDrained;
  }

  get hasEnded(): boolean {
    return this.#end !== null;
  }

  /** Rejects with `NoAnswerError`. Must not be called while another request is open. */
  send(id: number, line: string): Promise<ProgramReply> {
    return new Promise((resolve, reject) => {
      if (this.#end !== null) return reject(endedError(this.#end));
      this.#open = { id, resolve, reject };
      this.#pipe.write(line);
    });
  }

  stderrText(): string {
    return this.#pipe.stderrText();
  }

  stop(): Promise<void> {
    this.#isInStep = false;
    return this.#pipe.stop();
  }

  #takeLine(line: Buffer): void {
    if (!this.#isInStep) return;
    const reply = isBlank(line) ? null : parseReply(line);
    if ((reply === null || this.#isRepeated(reply)) && this.#ignored++ < MAX_IGNORED) return;
    const open = this.#open;
    this.#open = null;
    if (open !== null && reply !== null && typeof reply !== 'string' && reply.id === open.id) {
      this.#answeredIds = {
        from: Number.isNaN(this.#answeredIds.from) ? open.id : this.#answeredIds.from,
        to: open.id + 1,
      };
      this.#answers++;
      return open.resolve(reply);
    }
    void this.stop(); // No later line can be trusted.
    const problem = reply === null ? 'wrote blank lines without end' : wrongReply(reply, open?.id ?? 0);
    open?.reject(new NoAnswerError('bad_answer', problem, line));
  }

  #isRepeated(reply: ProgramReply | string): boolean {
    if (typeof reply === 'string' || !Number.isInteger(reply.id)) return false;
    return Number(reply.id) >= this.#answeredIds.from && Number(reply.id) < this.#answeredIds.to;
  }

  #finish({ how, isFault, rest }: PipeEnd): void {
    // A last line without its line end may still be a complete answer.
    if (this.#open !== null && !isBlank(rest) && typeof parseReply(rest) !== 'string') this.#takeLine(rest);
    this.#end = how;
    const open = this.#open;
    this.#open = null;
    if (isFault) open?.reject(new NoAnswerError('bad_answer', how));
    else if (isBlank(rest)) open?.reject(endedError(how));
    else open?.reject(new NoAnswerError('cut_off', `${how} in the middle of its answer`, rest));
  }
}

function endedError(how: string): NoAnswerError {
  return new NoAnswerError('ended', `${how} before it had answered`);
}

function wrongReply(reply: ProgramReply | string, expectedId: number): string {
  if (typeof reply === 'string') return reply;
  const { id } = reply;
  if (id === undefined) return `answered without the id of the request (${expectedId})`;
  const isSimple = typeof id === 'number' || typeof id === 'string';
  const shownId = isSimple ? `the id ${JSON.stringify(id).slice(0, MAX_SHOWN_ID)}` : 'an id that is not a number';
  return `answered request ${expectedId} with ${shownId}`;
}
