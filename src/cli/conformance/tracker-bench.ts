import type { Writable } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import { type Fields, fieldsOf, type JsonObject, textOf } from '../../domain/json.js';
import { lastLines } from '../../text/neutralise.js';
import { ProgramPipe } from '../../tracker/command/program-pipe.js';
import { isChange, type ProgramReply, parseReply, requestLine } from '../../tracker/command/protocol.js';
import type { Description } from '../../tracker/command/read.js';
import { NoAnswerError, ProgramSession } from '../../tracker/command/session.js';
import type { ProgramProcess } from '../../tracker/program.js';
import { type Evidence, fail } from './checks.js';

export interface TrackerTestOptions {
  /** Per answer. */
  readonly limitMs: number;
  /** The states to look for issues in. */
  readonly states: readonly string[];
  /** The id of an issue that may be changed. */
  readonly writeId: string | null;
  mask(text: string): string;
  /** Ends the checks early. */
  readonly signal: AbortSignal;
  /** `countable`: contained so that the processes it leaves behind can be counted. */
  start(form: 'usual' | 'countable'): Promise<StartedProgram>;
}

interface StartedProgram {
  readonly process: ProgramProcess;
  /** The number of its living processes. */
  living(): Promise<number>;
}

/** A program under test, and what earlier checks have learned about it. */
export class TrackerBench {
  readonly conversation: Conversation;
  /** The received issues, as they came. */
  records: readonly Fields[] = [];
  description: Description | null = null;
  #singleAnswer: ProcessRun | null = null;

  constructor(readonly options: TrackerTestOptions) {
    this.conversation = new Conversation(options);
  }

  /** Sends a request that must be answered with a list of issues. */
  async readIssues(
    method: 'issues_by_states' | 'issues_by_ids',
    params: JsonObject,
  ): Promise<{ readonly exchange: Exchange; readonly records: readonly Fields[] }> {
    const exchange = await this.conversation.send(method, params);
    return { exchange, records: listIn(resultIn(exchange), 'issues', exchange) };
  }

  /** Runs a separate process. Uses the common time limit unless the request has one. */
  async runProcess(request: ProcessRequest): Promise<ProcessRun> {
    const { limitMs, signal } = this.options;
    const { process, living } = await this.options.start('countable');
    return runProcess(process, { limitMs, ...request, signal, living });
  }

  /** A process that answers one request and then sees the end of its stdin. Several checks look at the same run. */
  async singleAnswer(request: ProcessRequest): Promise<ProcessRun> {
    this.#singleAnswer ??= await this.runProcess({ ...request, isWatched: true });
    return this.#singleAnswer;
  }
}

/** A request to the program, with its answer. */
export interface Exchange extends Evidence {
  readonly reply: ProgramReply | NoReply;
}

interface NoReply extends Pick<NoAnswerError, 'reason'> {
  readonly kind: 'none';
  /** Continues "it …". */
  readonly problem: string;
}

/** Ends the check unless the request was answered with a result. */
export function resultIn({ reply, ...evidence }: Exchange): Fields {
  if (reply.kind === 'none') return fail(reply.problem, adviceFor(reply), evidence);
  if (reply.kind === 'result') return reply.result;
  const { code, message } = reply.error;
  const problem = `answered with the error ${code}${message === null ? '' : ` (${message})`}`;
  return fail(problem, 'It must answer this with a result.', evidence);
}

/** Returns null when the program does not know the method. */
export function optionalResultIn(exchange: Exchange): Fields | null {
  return errorCodeOf(exchange) === 'unsupported' ? null : resultIn(exchange);
}

export function errorCodeOf({ reply }: Exchange): string | null {
  return reply.kind === 'error' ? reply.error.code : null;
}

export function listIn(result: Fields, key: 'issues' | 'comments', evidence: Evidence): readonly Fields[] {
  const list = result[key];
  if (Array.isArray(list)) return list.map((each: unknown) => fieldsOf(each));
  const action = `Answer {"id": …, "result": {"${key}": […]}}; where there are none, the list is empty.`;
  return fail(`answered without a list \`${key}\` in its result`, action, evidence);
}

/** Reads the field as Baton does: a whole number is as good as its digits. */
export function fieldText(record: Fields, field: 'id' | 'identifier' | 'state'): string {
  const value = record[field];
  return Number.isSafeInteger(value) ? String(value) : (textOf(value)?.trim() ?? '');
}

function adviceFor({ reason }: NoReply): string {
  switch (reason) {
    case 'timeout':
      return 'Answer every line with one line, and flush stdout after it: to a pipe most languages write only when a buffer is full.';
    case 'ended':
    case 'cut_off':
      return 'It may exit after an answer, not before: look for the reason in its stderr.';
    default:
      return 'Write nothing but answers to stdout, one JSON object on a line, with the id of the request; write everything else to stderr.';
  }
}

/** Large steps reveal a program that counts requests itself. */
const ID_STEP = 7;
/** Longer output is cut, because all of it is searched for secrets. */
const MAX_KEPT_BYTES = 20_000;

/**
 * Sends requests to a program, one at a time, with the same rules as the daemon: a program that exits after an answer is started
 * again, one that fails is stopped, and a change is never sent twice. Unlike the daemon, it records all messages for the report.
 */
class Conversation {
  readonly #options: TrackerTestOptions;
  #session: ProgramSession | null = null;
  #nextId = 1;
  #starts = 0;
  #answers = 0;
  #slowest = { ms: 0, method: '' };

  constructor(options: TrackerTestOptions) {
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

  /** Throws only when the program cannot be started, and after an interruption. */
  async send(method: string, params: JsonObject): Promise<Exchange> {
    const id = this.#nextId;
    this.#nextId += ID_STEP;
    const sent = requestLine(id, { method, params });
    const isRepeatable = !isChange({ method });
    for (;;) {
      const session = await this.#usableSession(isRepeatable);
      const isFirst = session.answers === 0;
      const sentAtMs = performance.now();
      try {
        const reply = await this.#withinLimit(session.send(id, sent));
        this.#answers++;
        const ms = performance.now() - sentAtMs;
        if (ms > this.#slowest.ms) this.#slowest = { ms, method };
        const { kind: _kind, ...received } = reply;
        return { sent, received: JSON.stringify(received), reply };
      } catch (error) {
        if (!(error instanceof NoAnswerError)) throw error;
        const { reason, message, line } = error;
        // The program was exiting when the request came. It may still have made a change.
        if (reason === 'ended' && !isFirst && isRepeatable) continue;
        const problem = `${message}${this.#stderrDetail(session)}`;
        await this.close();
        const received = line?.toString('utf8', 0, MAX_KEPT_BYTES) ?? null;
        return { sent, received, reply: { kind: 'none', reason, problem } };
      }
    }
  }

  async close(): Promise<void> {
    await this.#session?.stop();
    this.#session = null;
  }

  /** Sends a change only to a new process, or to one that has answered twice and therefore does not exit after each answer. */
  async #usableSession(isRepeatable: boolean): Promise<ProgramSession> {
    if (this.#session?.isUsable && (isRepeatable || this.#session.answers !== 1)) return this.#session;
    await this.close();
    const { process } = await this.#options.start('usual');
    this.#session = new ProgramSession(process);
    this.#starts++;
    return this.#session;
  }

  async #withinLimit(reply: Promise<ProgramReply>): Promise<ProgramReply> {
    const { limitMs, signal } = this.#options;
    const timeout = new NoAnswerError('timeout', `did not answer within ${limitMs / 1000} s`);
    const ended = new AbortController();
    const limit = new Promise<never>((_, reject) => {
      const timer = setTimeout(() => reject(timeout), limitMs);
      const interrupt = () => reject(new Error('interrupted'));
      signal.addEventListener('abort', interrupt, { once: true, signal: ended.signal });
      ended.signal.addEventListener('abort', () => clearTimeout(timer));
      if (signal.aborted) interrupt();
    });
    try {
      return await Promise.race([reply, limit]);
    } finally {
      ended.abort();
    }
  }

  #stderrDetail(session: ProgramSession): string {
    const stderr = lastLines(session.stderrText(), this.#options.mask);
    return stderr === '' ? '' : `; the end of its stderr: ${stderr}`;
  }
}

/** What one process did with its input. */
export interface ProcessRun {
  /** Of its stdout. */
  readonly lines: readonly string[];
  /** How it ended before its stdin did, continuing "it …"; `null` when it did not. */
  readonly endedEarly: string | null;
  /** Whether it ended by itself at the end of its stdin; known only for watched runs. */
  readonly endedOnEof: boolean;
  /** The number of its processes that outlived it; known only for watched runs. */
  readonly leftBehind: number;
}

interface ProcessRequest {
  deliver(stdin: Writable): Promise<void> | void;
  /** The id of the request to wait for. */
  readonly until: number;
  readonly limitMs?: number;
  /** Also watch for unrequested output, its end and its leftovers, which takes longer. */
  readonly isWatched?: boolean;
}

interface ProcessOptions extends ProcessRequest, Pick<TrackerTestOptions, 'limitMs' | 'signal'> {
  readonly limitMs: number;
  living(): Promise<number>;
}

/** Unrequested output may come a moment later, and ending processes are not leftovers. */
const CALM_MS = 200;
const EOF_MS = 1_000;

/** Writes to a new process, waits for its lines, closes its stdin and waits for its end. */
async function runProcess(process: ProgramProcess, options: ProcessOptions): Promise<ProcessRun> {
  const { limitMs, signal, living, isWatched = false, until, deliver } = options;
  const lines: string[] = [];
  let leftovers: Promise<number> | null = null;
  const counted: ProgramProcess = {
    ...process,
    // The first call comes right after the end of the program itself.
    async stop() {
      leftovers ??= isWatched ? pause(CALM_MS).then(living) : Promise.resolve(0);
      await leftovers;
      return process.stop();
    },
  };
  const finished = new AbortController();
  const finish = () => finished.abort();
  signal.addEventListener('abort', finish);
  let how: string | null = null;
  const ended = process.exited.then((text) => {
    how = text;
    finish();
  });
  const pipe = new ProgramPipe(counted, {
    onLine(line) {
      if (line.length > 0) lines.push(line.toString('utf8'));
      if (replyId(line) === until) finish();
    },
    onEnd: ({ rest }) => void (rest.length > 0 && lines.push(rest.toString('utf8'))),
  });
  try {
    await deliver(process.stdin);
    await pause(limitMs, undefined, { signal: finished.signal }).catch(() => {});
    if (isWatched) await pause(CALM_MS);
    const endedEarly = how;
    pipe.closeStdin();
    const eofMs = isWatched && !signal.aborted ? EOF_MS : 0;
    const endedOnEof = await Promise.race([ended.then(() => true), pause(eofMs, false, { ref: false })]);
    await counted.stop();
    return { lines, endedEarly, endedOnEof, leftBehind: (await leftovers) ?? 0 };
  } finally {
    signal.removeEventListener('abort', finish);
    await process.stop();
  }
}

/** The id of an answer; undefined for other lines. */
export function replyId(line: Buffer | string): unknown {
  const reply = parseReply(Buffer.from(line));
  return typeof reply === 'string' ? undefined : reply.id;
}
