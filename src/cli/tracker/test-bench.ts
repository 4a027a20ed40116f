import type { Writable } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import { type Fields, fieldsOf, type JsonObject, textOf } from '../../domain/json.js';
import { lastLines } from '../../text/neutralise.js';
import { NoAnswer, ProgramSession } from '../../tracker/command/program.js';
import { ProgramPipe } from '../../tracker/command/program-pipe.js';
import { type Description, isChange, lineOf, type ProgramReply, readAnswer } from '../../tracker/command/protocol.js';
import type { ProgramProcess } from '../../tracker/program.js';

/** One thing that a tracker program is held to. */
export interface Check {
  /** What a good one does, as a sentence without its subject. */
  readonly law: string;
  see(bench: TestBench): Promise<Verdict>;
}

/** A program on its stand, and what the checks so far have found out about it. */
export interface TestBench {
  readonly talk: Conversation;
  /** In a process of its own; `limitMs` is that of all answers where it is absent. */
  exchange(request: BenchRequest): Promise<Exchange>;
  readonly limitMs: number;
  readonly states: readonly string[];
  /** An issue that may be changed. */
  readonly writeId: string | null;
  /** The records that came, as they came. */
  records: readonly Fields[];
  description: Description | null;
  /** How a process that had answered once went when its stdin ended. */
  parting: Exchange | null;
}

type BenchRequest = Pick<ExchangeRequest, 'deliver' | 'until' | 'isWatched'> &
  Partial<Pick<ExchangeRequest, 'limitMs'>>;

export const NO_ISSUES = 'no issue came in the states that were asked for; name others with --states';

/** Ends the check where there is no result. */
export function resultIn(heard: Heard): Fields {
  const { answer } = heard;
  if (typeof answer === 'string') return fail(answer, adviceFor(answer), heard);
  if (answer.kind === 'result') return answer.result;
  const { code, message } = answer.error;
  const why = `answered with the error ${code}${message === null ? '' : ` (${message})`}`;
  return fail(why, 'It must answer this with a result.', heard);
}

/** The same where it need not know the question: `null`. */
export function optionalResultIn(heard: Heard): Fields | null {
  const { answer } = heard;
  return isUnsupported(answer) ? null : resultIn(heard);
}

export function isUnsupported(answer: Heard['answer']): boolean {
  return typeof answer !== 'string' && answer.kind === 'error' && answer.error.code === 'unsupported';
}

/** The records in a result. */
export function listIn(result: Fields, key: 'issues' | 'comments', said: Said): readonly Fields[] {
  const list = result[key];
  if (Array.isArray(list)) return list.map((each: unknown) => fieldsOf(each));
  const action = `Answer {"id": …, "result": {"${key}": […]}}; where there are none, the list is empty.`;
  return fail(`answered without a list \`${key}\` in its result`, action, said);
}

export async function askForIssues(
  bench: TestBench,
  method: 'issues_by_states' | 'issues_by_ids',
  params: JsonObject,
): Promise<{ readonly heard: Heard; readonly records: readonly Fields[] }> {
  const heard = await bench.talk.ask(method, params);
  return { heard, records: listIn(resultIn(heard), 'issues', heard) };
}

/** As Baton reads it: trackers count ids, and so a whole number is as good as its digits. */
export function wordIn(record: Fields, field: 'id' | 'identifier' | 'state'): string {
  const value = record[field];
  return Number.isSafeInteger(value) ? String(value) : (textOf(value)?.trim() ?? '');
}

function adviceFor(problem: string): string {
  if (problem.startsWith('did not answer')) {
    return 'Answer every line with one line, and flush stdout after it: to a pipe most languages write only when a buffer is full.';
  }
  if (/\bbefore it had answered|in the middle/.test(problem)) {
    return 'It may exit after an answer, not before: look at its stderr for why it does.';
  }
  return 'Write nothing but answers to stdout, one JSON object on a line, with the id of the request; write everything else to stderr.';
}

interface ConversationOptions {
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
  readonly answer: ProgramReply | string;
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

  async #inTime(answer: Promise<ProgramReply>): Promise<ProgramReply> {
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

function wordsOf(answer: ProgramReply): string {
  const { kind: _kind, ...words } = answer;
  return JSON.stringify(words);
}

/** What one process made of what it was given, word for word. */
export interface Exchange {
  /** What it wrote to stdout, line by line. */
  readonly lines: readonly string[];
  /** How it ended before its stdin did, going on from "it …"; `null`: it did not. */
  readonly endedEarly: string | null;
  /** Whether it ended by itself when its stdin did; only known where it was watched. */
  readonly endedOnEof: boolean;
  readonly leftBehind: number;
}

interface ExchangeRequest {
  deliver(stdin: Writable): Promise<void> | void;
  /** The id of the request whose answer is waited for. */
  readonly until: number;
  readonly limitMs: number;
  readonly signal: AbortSignal;
  /** See what it says unasked, whether it ends with its stdin, and what it leaves behind. That takes a while. */
  readonly isWatched?: boolean;
  /** How many processes of it are alive. */
  living(): Promise<number>;
}

/** What is just ending is not left behind, and what nobody asked for may come a moment later. */
const CALM_MS = 200;
const EOF_MS = 1_000;

/** Gives a new process something, waits for lines, closes its stdin and sees it off. It is gone afterwards. */
export async function exchange(process: ProgramProcess, request: ExchangeRequest): Promise<Exchange> {
  const { limitMs, signal, living, isWatched = false } = request;
  const lines: string[] = [];
  let left: Promise<number> | null = null;
  const counted: ProgramProcess = {
    ...process,
    // The first call comes right after the end of the program itself.
    async stop() {
      left ??= isWatched ? pause(CALM_MS).then(living) : Promise.resolve(0);
      await left;
      return process.stop();
    },
  };
  const waited = new AbortController();
  const over = () => waited.abort();
  signal.addEventListener('abort', over);
  let how: string | null = null;
  const ended = process.exited.then((text) => {
    how = text;
    over();
  });
  const pipe = new ProgramPipe(counted, {
    onLine(line) {
      if (line.length > 0) lines.push(line.toString('utf8'));
      if (idIn(line) === request.until) over();
    },
    onEnd: ({ rest }) => void (rest.length > 0 && lines.push(rest.toString('utf8'))),
  });
  try {
    await request.deliver(process.stdin);
    await pauseUntil(waited.signal, limitMs);
    if (isWatched) await pause(CALM_MS);
    const endedEarly = how;
    pipe.closeStdin();
    const exited = ended.then(() => true);
    const endedOnEof = await Promise.race([
      exited,
      pause(isWatched && !signal.aborted ? EOF_MS : 0, false, { ref: false }),
    ]);
    await counted.stop();
    return { lines, endedEarly, endedOnEof, leftBehind: (await left) ?? 0 };
  } finally {
    signal.removeEventListener('abort', over);
    await process.stop();
  }
}

/** Of an answer; anything else has none. */
export function idIn(line: Buffer | string): unknown {
  const answer = readAnswer(Buffer.from(line));
  return typeof answer === 'string' ? undefined : answer.id;
}

function pauseUntil(signal: AbortSignal, ms: number): Promise<void> {
  return pause(ms, undefined, { signal }).catch(() => {});
}

/** `told`: there is no right or wrong. */
export interface Verdict extends Said {
  readonly mark: 'passed' | 'failed' | 'told' | 'skipped';
  readonly why: string;
  readonly action: string | null;
}

/** What a finding is about, where it is about a request. */
interface Said {
  readonly sent: string | null;
  /** `null`: nothing. */
  readonly came: string | null;
}

const NOTHING: Said = { sent: null, came: null };

export function passed(why = ''): Verdict {
  return { mark: 'passed', why, action: null, ...NOTHING };
}

export function told(why: string, action: string | null = null): Verdict {
  return { mark: 'told', why, action, ...NOTHING };
}

export function skipped(why: string): Verdict {
  return { mark: 'skipped', why, action: null, ...NOTHING };
}

/** `why` goes on from "it …". */
export function failCheck(why: string, action: string, { sent, came }: Said = NOTHING): Verdict {
  return { mark: 'failed', why: `it ${why}`, action, sent, came };
}

/** Ends a check from anywhere inside it. */
export class CheckEnd extends Error {
  override readonly name = 'CheckEnd';

  constructor(readonly verdict: Verdict) {
    super(verdict.why);
  }
}

export function fail(why: string, action: string, said?: Said): never {
  throw new CheckEnd(failCheck(why, action, said));
}
