import type { Writable } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import { readAnswer } from '../../tracker/command/answer.js';
import { ProgramPipe } from '../../tracker/command/program-pipe.js';
import type { ProgramProcess } from '../../tracker/program.js';

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

export interface ExchangeRequest {
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
