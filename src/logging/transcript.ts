import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { neutraliseJson } from '../text/neutralise.js';
import { AppendQueue } from './append-queue.js';
import { DiffHold } from './diff-hold.js';
import type { Redactor } from './redact.js';

export interface TranscriptOptions {
  readonly redactor: Redactor;
  readonly maxBytes?: number;
  /** Another daemon began it: its last line may be torn. */
  readonly continues?: boolean;
  /** Told once, when the file cannot be written; the run goes on without its transcript. */
  readonly onError?: (error: Error) => void;
}

export interface Transcript {
  readonly path: string;
  /** Never throws and never waits. */
  write(kind: string, data: unknown): void;
  /** Settles when everything is in the file. Never rejects; safe to call twice. */
  close(): Promise<void>;
}

const DEFAULT_MAX_BYTES = 50_000_000;
/** What may wait for a slow disk before lines are left out. One line alone may be longer. */
const MAX_WAITING_BYTES = 8_000_000;
/** Kept free for the two lines that say what is missing. */
const RESERVED_BYTES = 300;
/** What people and Baton did is written on when the agent has said too much: no agent may talk that out of its transcript. */
const OWN_KINDS: ReadonlySet<string> = new Set([
  ...['run_began', 'closing_began', 'run_ended', 'prompt', 'hook', 'step_started', 'step_finished'],
  ...['asked', 'answered', 'message', 'unheard'],
]);
const OWN_SHARE = 0.05;

/**
 * All that a run said, as JSON lines `{time, kind, data}` in `<dir>/<run id>.jsonl`. It is bounded: once `maxBytes` are nearly
 * reached a `cut` line ends what the agent says, and at the close a second one says how many lines are missing. Lines left out because
 * the disk is too slow leave a `gap` line where they would be.
 */
export function openTranscript(dir: string, runId: string, options: TranscriptOptions): Transcript {
  const path = join(dir, transcriptName(runId));
  const queue = new AppendQueue(path, options.onError ?? (() => {}));
  const maxBytes = options.maxBytes ?? DEFAULT_MAX_BYTES;
  let bytes = 0;
  let leftOut = 0;
  let isCut = false;
  const diffs = new DiffHold();
  let closing: Promise<void> | null = null;
  if (options.continues && isTorn(path)) queue.append('\n');

  const append = (line: string): void => {
    bytes += Buffer.byteLength(line);
    queue.append(line);
  };

  const write = (kind: string, data: unknown): void => {
    const isOwn = OWN_KINDS.has(kind);
    if ((isCut && !isOwn) || queue.waitingBytes > MAX_WAITING_BYTES) {
      leftOut += 1;
      return;
    }
    const json = lineOf(kind, data);
    const line = `${neutraliseJson(options.redactor.maskJson(json))}\n`;
    const gap = leftOut > 0 && !isCut ? `${lineOf('gap', { lines: leftOut })}\n` : '';
    const room = isOwn ? maxBytes : maxBytes * (1 - OWN_SHARE);
    if (bytes + Buffer.byteLength(gap) + Buffer.byteLength(line) + RESERVED_BYTES > room) {
      leftOut += 1;
      if (!isCut) append(`${lineOf('cut', { max_bytes: maxBytes })}\n`);
      isCut = true;
      return;
    }
    append(gap + line);
    if (!isCut) leftOut = 0;
  };

  const finish = (): Promise<void> => {
    for (const held of diffs.flush()) write(held.kind, held.data);
    if (leftOut > 0) append(`${lineOf(isCut ? 'cut' : 'gap', { lines: leftOut })}\n`);
    return queue.close();
  };

  return {
    path,
    write(kind, data) {
      if (closing !== null || queue.isBroken) return;
      for (const line of diffs.take({ kind, data }, performance.now())) write(line.kind, line.data);
    },
    close() {
      closing ??= finish();
      return closing;
    },
  };
}

/** Run ids are ours and harmless; should one not be, it still names a file in the directory. */
export function transcriptName(runId: string): string {
  return `${runId.replace(/[^A-Za-z0-9_-]/g, '_').slice(0, 200)}.jsonl`;
}

function lineOf(kind: string, data: unknown): string {
  const time = new Date().toISOString();
  try {
    return JSON.stringify({ time, kind, data: data ?? null });
  } catch (error) {
    return JSON.stringify({ time, kind, data: `not writable as JSON: ${(error as Error).message}` });
  }
}

/** Does it end in the middle of a line? Where that cannot be told it is not there, or cannot be written either. */
function isTorn(path: string): boolean {
  try {
    const file = openSync(path, 'r');
    try {
      const { size } = fstatSync(file);
      const last = Buffer.alloc(1);
      return size > 0 && readSync(file, last, 0, 1, size - 1) === 1 && last.toString() !== '\n';
    } finally {
      closeSync(file);
    }
  } catch {
    return false;
  }
}
