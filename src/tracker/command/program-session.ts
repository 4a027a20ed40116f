import type { ProgramProcess } from '../program.js';
import { type Answer, isBlank, readAnswer } from './answer.js';
import { type PipeEnd, ProgramPipe } from './program-pipe.js';

/** Why a question has no answer. The message goes on from "the tracker program, asked for …, …". */
export class NoAnswer extends Error {
  override readonly name = 'NoAnswer';
  /** The line that is to blame. */
  readonly line: Buffer | null;
  /** The process ended, and had said nothing about the question. */
  readonly isSilentEnd: boolean;

  constructor(
    readonly code: 'tracker_request' | 'tracker_response',
    message: string,
    { line = null, isSilentEnd = false }: { readonly line?: Buffer | null; readonly isSilentEnd?: boolean } = {},
  ) {
    super(message);
    this.line = line;
    this.isSilentEnd = isSilentEnd;
  }
}

interface OpenQuestion {
  readonly id: number;
  resolve(answer: Answer): void;
  reject(error: NoAnswer): void;
}

/** More than that is no slip. */
const MAX_IGNORED = 10_000;
const MAX_SHOWN_ID = 40;

/**
 * One process and one question at a time. The first line after a question is its answer, or the process is out of step and of no use any
 * more: it is stopped, so that nothing that it says later can be taken for an answer. So is one that speaks unasked. Only blank lines, and
 * an answer that is given once more, are passed over.
 */
export class ProgramSession {
  readonly #pipe: ProgramPipe;
  #open: OpenQuestion | null = null;
  /** The ids of the questions that it has answered: from the first one to before the last. */
  #ids = { from: Number.NaN, to: Number.NaN };
  #answers = 0;
  #ignored = 0;
  #isUsable = true;
  #end: string | null = null;

  constructor(process: ProgramProcess) {
    this.#pipe = new ProgramPipe(process, {
      onLine: (line) => this.#take(line),
      onEnd: (end) => this.#over(end),
    });
  }

  /** How many questions it has answered. */
  get answers(): number {
    return this.#answers;
  }

  /** What answered without having read the question will not read the next one either. */
  get isUsable(): boolean {
    return this.#isUsable && this.#end === null && this.#pipe.isDrained;
  }

  get hasEnded(): boolean {
    return this.#end !== null;
  }

  /** Rejects with `NoAnswer`. Not while another question is open. */
  ask(id: number, line: string): Promise<Answer> {
    return new Promise((resolve, reject) => {
      if (this.#end !== null) return reject(endedBefore(this.#end));
      this.#open = { id, resolve, reject };
      this.#pipe.write(line);
    });
  }

  stderrText(): string {
    return this.#pipe.stderrText();
  }

  stop(): Promise<void> {
    this.#isUsable = false;
    return this.#pipe.stop();
  }

  #take(line: Buffer): void {
    if (!this.#isUsable) return;
    const answer = isBlank(line) ? null : readAnswer(line);
    if ((answer === null || this.#isRepeated(answer)) && this.#ignored++ < MAX_IGNORED) return;
    const open = this.#open;
    this.#open = null;
    if (open !== null && answer !== null && typeof answer !== 'string' && answer.id === open.id) {
      this.#ids = { from: Number.isNaN(this.#ids.from) ? open.id : this.#ids.from, to: open.id + 1 };
      this.#answers++;
      return open.resolve(answer);
    }
    void this.stop(); // Nothing after this can be trusted.
    open?.reject(
      new NoAnswer('tracker_response', problemOf(answer ?? 'wrote blank lines without end', open.id), { line }),
    );
  }

  #isRepeated(answer: Answer | string): boolean {
    const { from, to } = this.#ids;
    return (
      typeof answer !== 'string' && Number.isInteger(answer.id) && Number(answer.id) >= from && Number(answer.id) < to
    );
  }

  #over({ how, isFault, rest }: PipeEnd): void {
    // A last line without its end is an answer if it is whole: a JSON object that was cut is none.
    if (this.#open !== null && !isBlank(rest) && typeof readAnswer(rest) !== 'string') this.#take(rest);
    this.#end = how;
    const open = this.#open;
    this.#open = null;
    if (isFault) open?.reject(new NoAnswer('tracker_response', how));
    else if (isBlank(rest)) open?.reject(endedBefore(how));
    else open?.reject(new NoAnswer('tracker_request', `${how} in the middle of its answer`, { line: rest }));
  }
}

function endedBefore(how: string): NoAnswer {
  return new NoAnswer('tracker_request', `${how} before it had answered`, { isSilentEnd: true });
}

function problemOf(answer: Answer | string, asked: number): string {
  if (typeof answer === 'string') return answer;
  const { id } = answer;
  const which =
    typeof id === 'number' || typeof id === 'string' ? JSON.stringify(id).slice(0, MAX_SHOWN_ID) : 'no number';
  return id === undefined
    ? `answered without the id of the question (${asked})`
    : `answered with the id ${which} when it was asked question ${asked}`;
}
