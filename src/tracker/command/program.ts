import { setImmediate as turnOfOthers } from 'node:timers/promises';
import { BatonError } from '../../domain/errors.js';
import { lastLines, shown } from '../../text/neutralise.js';
import type { ProgramProcess } from '../program.js';
import { type PipeEnd, ProgramPipe } from './program-pipe.js';
import {
  Asked,
  isBlank,
  isChange,
  lineOf,
  type ProgramError,
  type ProgramReply,
  type Question,
  readAnswer,
} from './protocol.js';

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
  resolve(answer: ProgramReply): void;
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
  ask(id: number, line: string): Promise<ProgramReply> {
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

  #isRepeated(answer: ProgramReply | string): boolean {
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

function problemOf(answer: ProgramReply | string, asked: number): string {
  if (typeof answer === 'string') return answer;
  const { id } = answer;
  const which =
    typeof id === 'number' || typeof id === 'string' ? JSON.stringify(id).slice(0, MAX_SHOWN_ID) : 'no number';
  return id === undefined
    ? `answered without the id of the question (${asked})`
    : `answered with the id ${which} when it was asked question ${asked}`;
}

interface TalkOptions {
  start(): Promise<ProgramProcess>;
  /** For each question, from its turn on, with the start of the program where it has to be started. */
  readonly timeoutMs: number;
  mask(text: string): string;
}

/**
 * All questions to the program, one at a time: one that exits after each answer needs no more care than one that stays, and who waits
 * knows for what. A question that goes wrong takes its process with it; the next one gets a new process once that one is gone. Changes
 * are asked before reads, so that a list that hangs holds an agent's change up for one time limit at most; but not for ever, or an agent that
 * changes all the time would make the daemon blind.
 *
 * `#lasts` says whether the program stays after an answer, as far as that is known. It matters for the moment in which a question is sent
 * while the process is on its way out: a read is then asked again, once; a change never, so it only goes to a process that is new or
 * known to stay.
 */
export class ProgramTalk {
  readonly #options: TalkOptions;
  readonly #waiting: Asked[] = [];
  #open: Asked | null = null;
  #working: Promise<void> | null = null;
  #session: ProgramSession | null = null;
  /** Settles when no process is being started or stopped. */
  #settled: Promise<void> = Promise.resolve();
  #lasts: boolean | null = null;
  #nextId = 1;
  /** Changes that were asked before a read that waits. */
  #passed = 0;
  #isClosed = false;

  constructor(options: TalkOptions) {
    this.#options = options;
  }

  /** Throws `tracker_request` or `tracker_response`. An error that the program answers is an answer. */
  async ask(question: Question, signal: AbortSignal): Promise<ProgramReply> {
    const asked = new Asked(question);
    const giveUp = () => this.#fail(asked, new NoAnswer('tracker_request', 'was not waited for any longer'));
    if (this.#isClosed) this.#fail(asked, SHUTTING_DOWN);
    else if (signal.aborted) giveUp();
    else {
      this.#waiting.push(asked);
      this.#working ??= this.#work();
    }
    signal.addEventListener('abort', giveUp, { once: true });
    try {
      return await asked.answer;
    } finally {
      signal.removeEventListener('abort', giveUp);
    }
  }

  /** Gives every question up and ends the program. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const asked of [...this.#waiting, ...(this.#open ? [this.#open] : [])]) this.#fail(asked, SHUTTING_DOWN);
    await this.#working;
    this.#drop();
    await this.#settled;
  }

  async #work(): Promise<void> {
    for (let next = this.#next(); next !== undefined; next = this.#next()) {
      const asked = next;
      this.#open = asked;
      const { timeoutMs } = this.#options;
      const late = new NoAnswer('tracker_request', `did not answer within ${timeoutMs / 1000} s`);
      const timer = setTimeout(() => this.#fail(asked, late), timeoutMs);
      await Promise.race([this.#exchange(asked), asked.over]);
      clearTimeout(timer);
      this.#open = null;
      // Whoever was answered may have the next part of a change to ask, which goes first.
      await turnOfOthers();
    }
    this.#working = null;
  }

  #next(): Asked | undefined {
    const urgent = this.#waiting.findIndex(({ question }) => question.isUrgent);
    const patient = this.#waiting.findIndex(({ question }) => !question.isUrgent);
    const isPassing = urgent !== -1 && patient !== -1 && this.#passed < MAX_PASSED;
    this.#passed = isPassing ? this.#passed + 1 : 0;
    const at = isPassing || patient === -1 ? urgent : patient;
    return this.#waiting.splice(Math.max(at, 0), 1)[0];
  }

  /** Never rejects: settles what was asked. Whoever gives that up meanwhile has dropped the session. */
  async #exchange(asked: Asked): Promise<void> {
    try {
      while (!asked.isOver) {
        const answer = await this.#once(asked);
        if (answer !== null && !asked.isOver) asked.settle(answer);
      }
    } catch (error) {
      this.#fail(asked, error instanceof NoAnswer ? error : new NoAnswer('tracker_request', startProblem(error)));
    }
  }

  /** `null`: it was given up, or has to be asked again. */
  async #once(asked: Asked): Promise<ProgramReply | null> {
    const session = await this.#sessionFor(asked);
    if (session === null || asked.isOver) return null;
    const isFirst = session.answers === 0;
    try {
      const answer = await session.ask(this.#nextId, lineOf(this.#nextId++, asked.question));
      if (session.answers > 1) this.#lasts = true;
      if (this.#lasts === false && !asked.isOver) this.#drop();
      return answer;
    } catch (error) {
      if (asked.isOver) return null;
      const wasLeaving = error instanceof NoAnswer && error.isSilentEnd && !isFirst && this.#lasts === null;
      // What stayed and then did not is looked at anew.
      if (!wasLeaving) this.#lasts &&= null;
      if (!wasLeaving) throw error;
      this.#lasts = false;
      this.#drop();
      return null;
    }
  }

  /** `null`: given up meanwhile. */
  async #sessionFor(asked: Asked): Promise<ProgramSession | null> {
    const session = this.#session;
    if (session !== null) {
      if (session.hasEnded && session.answers === 1) this.#lasts ??= false;
      const mayStay =
        session.answers === 0 || this.#lasts === true || (this.#lasts === null && !isChange(asked.question));
      if (session.isUsable && mayStay) return session;
      this.#drop();
    }
    await this.#settled;
    if (asked.isOver) return null;
    const starting = this.#options.start().then((process) => new ProgramSession(process));
    // Who gives the question up while it is being started leaves a process that nobody asked for.
    this.#settled = starting.then(
      (started) => {
        if (asked.isOver) return started.stop();
        this.#session = started;
      },
      () => {},
    );
    return starting;
  }

  #drop(): void {
    const session = this.#session;
    if (session === null) return;
    this.#session = null;
    const stopped = session.stop();
    this.#settled = this.#settled.then(() => stopped);
  }

  #fail(asked: Asked, { code, message, line }: NoAnswer): void {
    if (asked.isOver) return;
    const at = this.#waiting.indexOf(asked);
    if (at !== -1) this.#waiting.splice(at, 1);
    const { mask } = this.#options;
    const isOpen = this.#open === asked;
    const said = isOpen && this.#session ? lastLines(this.#session.stderrText(), mask) : '';
    const wrote = line === null ? '' : `: "${shown(line.toString('utf8', 0, MAX_QUOTED_BYTES), mask)}"`;
    const detail = said === '' ? '' : ` The end of its stderr: ${said}`;
    const problem = `The tracker program, asked for ${asked.question.method}, ${mask(message)}${wrote}.`;
    // Nothing that comes late can be taken for the answer to another question.
    if (isOpen) this.#drop();
    asked.fail(new BatonError(code, `${problem}${this.#isClosed ? '' : ADVICE}${detail}`));
  }
}

/** A change is up to three questions. */
const MAX_PASSED = 6;
const MAX_QUOTED_BYTES = 4_000;
const ADVICE = ' Look at it with `baton tracker test`.';
const SHUTTING_DOWN = new NoAnswer('tracker_request', 'is not asked any more, as Baton is shutting down');

function startProblem(error: unknown): string {
  return `could not be started: ${error instanceof Error ? error.message : String(error)}`;
}

/** Nobody says when it ends: long enough to be polite, short enough to notice. */
const UNTOLD_WAIT_MS = 60_000;
/** A reset in a year is a mistake of somebody's clock. */
const MAX_WAIT_MS = 24 * 3_600_000;

interface ErrorPlace {
  /** The variables of the daemon that the program is given. */
  readonly variables: readonly string[];
  readonly nowMs: number;
  mask(text: string): string;
}

/** What the program answered with `error`, as Baton's own. */
export function errorOf(error: ProgramError, question: Question, place: ErrorPlace): BatonError {
  const { code, message } = error;
  const { method } = question;
  const said = message === null ? '' : ` It says: ${shown(message, place.mask)}`;
  switch (code) {
    case 'auth':
      return new BatonError('tracker_auth', `The tracker program is not let in (${method}). ${renew(place)}${said}`);
    case 'rate_limited': {
      const resetAtMs = resetOf(error, place.nowMs);
      const until = new Date(resetAtMs).toISOString();
      const text = `The tracker program says that its tracker limits requests until ${until}. Nothing to do: Baton waits.${said}`;
      return new BatonError('tracker_rate_limited', text, { resetAtMs });
    }
    case 'unsupported':
      if (isChange(question)) return new BatonError('tracker_refused', `${cannot(method)}${said}`);
      return new BatonError('tracker_response', `The tracker program does not know ${method}. Teach it.${said}`);
    case 'not_found':
    case 'refused':
      if (isChange(question)) {
        const why = code === 'not_found' ? 'the issue does not exist any more' : 'the tracker would not do it';
        return new BatonError('tracker_refused', `${method} was refused: ${why}.${said}`);
      }
      return failed(method, code, said, place);
    default:
      return failed(method, code, said, place);
  }
}

export function cannot(method: string): string {
  const what =
    method === 'move' ? 'Issues of this tracker cannot be moved' : 'Issues of this tracker cannot be commented on';
  return `${what} from here: its program does not know \`${method}\`. Tell a person in your last message instead.`;
}

function failed(method: string, code: string, said: string, { mask }: ErrorPlace): BatonError {
  return new BatonError('tracker_status', `The tracker program failed at ${method} (${shown(code, mask)}).${said}`);
}

function renew({ variables }: ErrorPlace): string {
  if (variables.length === 0) return 'Renew what it logs in with; secrets belong under tracker.provider.env.';
  return `Put a good secret into ${variables.join(' or ')} where the daemon is started, and restart.`;
}

function resetOf({ resetAt, retryAfterS }: ProgramError, nowMs: number): number {
  const ms = resetAt !== null ? Date.parse(resetAt) : nowMs + (retryAfterS ?? Number.NaN) * 1_000;
  return ms > nowMs ? Math.min(ms, nowMs + MAX_WAIT_MS) : nowMs + UNTOLD_WAIT_MS;
}
