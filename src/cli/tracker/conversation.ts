import type { JsonObject } from '../../domain/json.js';
import type { Answer } from '../../tracker/command/answer.js';
import { isChange, lineOf } from '../../tracker/command/protocol.js';
import { NoAnswer, ProgramSession } from '../../tracker/command/program-session.js';
import type { ProgramProcess } from '../../tracker/program.js';
import { lastLines } from '../../tracker/shown-words.js';
import type { Said } from './verdict.js';

export interface ConversationOptions {
  start(): Promise<ProgramProcess>;
  readonly limitMs: number;
  /** Takes secrets out of a text. */
  mask(text: string): string;
  /** Ends every wait. */
  readonly signal: AbortSignal;
}

export interface Heard extends Said {
  readonly sent: string;
  /** A text: what is wrong, going on from "it …". */
  readonly answer: Answer | string;
}

/** Far apart, so that a program that counts for itself is found out. */
const ID_STEP = 7;
/** More is not shown, and secrets are looked for in all that is kept. */
const MAX_KEPT_BYTES = 20_000;

/**
 * Questions to a program, one at a time, with the care of a daemon for what it does in between: one that exits after an answer is
 * started again, and one that goes wrong is stopped; a change is never asked twice. Other than there, every word is kept to be shown.
 */
export class Conversation {
  readonly #options: ConversationOptions;
  #session: ProgramSession | null = null;
  #nextId = 1;
  #starts = 0;
  #answers = 0;
  #slowest = { ms: 0, method: '' };

  constructor(options: ConversationOptions) {
    this.#options = options;
  }

  get starts(): number {
    return this.#starts;
  }

  get answers(): number {
    return this.#answers;
  }

  get slowest(): { readonly ms: number; readonly method: string } {
    return this.#slowest;
  }

  /** Throws what keeps the program from being started, and when it is interrupted. */
  async ask(method: string, params: JsonObject): Promise<Heard> {
    const id = this.#nextId;
    this.#nextId += ID_STEP;
    const sent = lineOf(id, { method, params });
    const isRepeatable = !isChange({ method });
    for (;;) {
      const session = await this.#usable(isRepeatable);
      const isFirst = session.answers === 0;
      const askedAtMs = performance.now();
      try {
        const answer = await this.#inTime(session.ask(id, sent));
        this.#answers++;
        const ms = performance.now() - askedAtMs;
        if (ms > this.#slowest.ms) this.#slowest = { ms, method };
        return { sent, came: wordsOf(answer), answer };
      } catch (error) {
        if (!(error instanceof NoAnswer)) throw error;
        // It was on its way out when it was asked. A change may have been made all the same.
        if (error.isSilentEnd && !isFirst && isRepeatable) continue;
        const problem = `${error.message}${this.#saidOn(session.stderrText())}`;
        await this.close();
        return { sent, came: error.line?.toString('utf8', 0, MAX_KEPT_BYTES) ?? null, answer: problem };
      }
    }
  }

  async close(): Promise<void> {
    await this.#session?.stop();
    this.#session = null;
  }

  /** What is not asked twice goes only to a process that is new, or has answered again after its first answer: it stays. */
  async #usable(mayBeLeaving: boolean): Promise<ProgramSession> {
    if (this.#session?.isUsable && (mayBeLeaving || this.#session.answers !== 1)) return this.#session;
    await this.close();
    this.#session = new ProgramSession(await this.#options.start());
    this.#starts++;
    return this.#session;
  }

  async #inTime(answer: Promise<Answer>): Promise<Answer> {
    const { limitMs, signal } = this.#options;
    const late = new NoAnswer('tracker_request', `did not answer within ${limitMs / 1000} s`);
    const ended = new AbortController();
    const limit = new Promise<never>((_, reject) => {
      const timer = setTimeout(() => reject(late), limitMs);
      const interrupt = () => reject(new Error('interrupted'));
      signal.addEventListener('abort', interrupt, { once: true, signal: ended.signal });
      ended.signal.addEventListener('abort', () => clearTimeout(timer));
      if (signal.aborted) interrupt();
    });
    try {
      return await Promise.race([answer, limit]);
    } finally {
      ended.abort();
    }
  }

  #saidOn(stderr: string): string {
    const said = lastLines(stderr, this.#options.mask);
    return said === '' ? '' : `; the end of its stderr: ${said}`;
  }
}

function wordsOf(answer: Answer): string {
  const { kind: _kind, ...words } = answer;
  return JSON.stringify(words);
}
