import { setImmediate as turnOfOthers } from 'node:timers/promises';
import { BatonError } from '../../domain/errors.js';
import type { ProgramProcess } from '../program.js';
import { lastLines, shown } from '../shown-words.js';
import type { Answer } from './answer.js';
import { Asked, isChange, lineOf, type Question } from './protocol.js';
import { NoAnswer, ProgramSession } from './program-session.js';

export interface TalkOptions {
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
  async ask(question: Question, signal: AbortSignal): Promise<Answer> {
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
  async #once(asked: Asked): Promise<Answer | null> {
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
