import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';
import { type FileHandle, mkdir, open, readdir, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fieldsOf } from '../domain/json.js';
import { neutraliseJson } from '../text/neutralise.js';
import type { Redactor } from './redact.js';

interface TranscriptOptions {
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

const FLUSH_BYTES = 64_000;
const FLUSH_MS = 200;

/**
 * Appends to a file without making its caller wait: lines are collected for a moment and written in batches, one after the
 * other. The file and its directory are made with the first batch. After the first error nothing more is written.
 */
class AppendQueue {
  readonly #path: string;
  readonly #onError: (error: Error) => void;
  #batch: string[] = [];
  #batchBytes = 0;
  #waitingBytes = 0;
  #timer: NodeJS.Timeout | null = null;
  #file: FileHandle | null = null;
  #isBroken = false;
  #written: Promise<void> = Promise.resolve();

  constructor(path: string, onError: (error: Error) => void) {
    this.#path = path;
    this.#onError = onError;
  }

  /** Taken but not yet in the file. */
  get waitingBytes(): number {
    return this.#waitingBytes;
  }

  get isBroken(): boolean {
    return this.#isBroken;
  }

  append(line: string): void {
    const bytes = Buffer.byteLength(line);
    this.#batch.push(line);
    this.#batchBytes += bytes;
    this.#waitingBytes += bytes;
    if (this.#batchBytes >= FLUSH_BYTES) this.#flush();
    else this.#timer ??= setTimeout(() => this.#flush(), FLUSH_MS).unref();
  }

  async close(): Promise<void> {
    this.#flush();
    await this.#written;
    try {
      await this.#file?.close();
    } catch (error) {
      this.#fail(error);
    }
    this.#file = null;
  }

  #flush(): void {
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = null;
    if (this.#batch.length === 0) return;
    const [text, bytes] = [this.#batch.join(''), this.#batchBytes];
    this.#batch = [];
    this.#batchBytes = 0;
    this.#written = this.#written.then(async () => {
      await this.#write(text);
      this.#waitingBytes -= bytes;
    });
  }

  async #write(text: string): Promise<void> {
    if (this.#isBroken) return;
    try {
      this.#file ??= await create(this.#path);
      await this.#file.appendFile(text);
    } catch (error) {
      this.#fail(error);
    }
  }

  #fail(error: unknown): void {
    if (this.#isBroken) return;
    this.#isBroken = true;
    this.#onError(error instanceof Error ? error : new Error(String(error)));
  }
}

async function create(path: string): Promise<FileHandle> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const { O_WRONLY, O_APPEND, O_CREAT, O_NOFOLLOW } = constants;
  return open(path, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW, 0o600);
}

/** A diff is told anew with every edit, whole: a transcript of nothing else would say little. */
const BETWEEN_MS = 10_000;

interface Line {
  readonly kind: string;
  readonly data: unknown;
}

/** Lets a diff through now and then, and the last one of a turn always. What is told in between is in the next one. */
class DiffHold {
  #held: Line | null = null;
  #writtenAtMs = Number.NEGATIVE_INFINITY;

  /** What is to be written now. */
  take(line: Line, nowMs: number): readonly Line[] {
    if (!isDiff(line)) return isTurnEnd(line) ? [...this.flush(), line] : [line];
    if (nowMs - this.#writtenAtMs < BETWEEN_MS) {
      this.#held = line;
      return [];
    }
    this.#held = null;
    this.#writtenAtMs = nowMs;
    return [line];
  }

  flush(): readonly Line[] {
    const held = this.#held === null ? [] : [this.#held];
    this.#held = null;
    return held;
  }
}

function isDiff({ kind, data }: Line): boolean {
  return kind === 'notification' && fieldsOf(data).method === 'turn/diff/updated';
}

function isTurnEnd({ kind }: Line): boolean {
  return /^(?:turn_(?:completed|failed|cancelled|ended_with_error)|run_ended)$/.test(kind);
}

interface PruneOptions {
  /** How many are kept, the youngest. */
  readonly keep: number;
  /** Older ones go even when there are fewer. */
  readonly maxAgeMs?: number;
  /** Runs that are still being written. */
  readonly liveRunIds?: readonly string[];
}

interface PruneResult {
  readonly removed: readonly string[];
  /** What could not be removed, and why. */
  readonly failed: readonly { readonly file: string; readonly message: string }[];
}

/** Removes old transcripts, by the time of their last line. Other files of the directory are left alone. */
export async function pruneTranscripts(dir: string, options: PruneOptions): Promise<PruneResult> {
  const live = new Set((options.liveRunIds ?? []).map(transcriptName));
  const removed: string[] = [];
  const failed: { file: string; message: string }[] = [];
  const old = (await transcriptsIn(dir)).filter(({ name }) => !live.has(name));
  const oldestMs = options.maxAgeMs === undefined ? Number.NEGATIVE_INFINITY : Date.now() - options.maxAgeMs;

  for (const [position, { name, changedAtMs }] of old.entries()) {
    if (position < options.keep && changedAtMs >= oldestMs) continue;
    try {
      await rm(join(dir, name), { force: true });
      removed.push(name);
    } catch (error) {
      failed.push({ file: name, message: (error as Error).message });
    }
  }
  return { removed, failed };
}

/** The youngest first. */
async function transcriptsIn(dir: string): Promise<{ readonly name: string; readonly changedAtMs: number }[]> {
  const entries = await readdir(dir, { withFileTypes: true }).catch(orIfMissing([]));
  const files = entries.filter((entry) => entry.isFile() && entry.name.endsWith('.jsonl'));
  const dated = await Promise.all(
    files.map(async ({ name }) => {
      const stats = await stat(join(dir, name)).catch(orIfMissing(null));
      return stats ? [{ name, changedAtMs: stats.mtimeMs }] : [];
    }),
  );
  return dated.flat().sort((a, b) => b.changedAtMs - a.changedAtMs || b.name.localeCompare(a.name));
}

function orIfMissing<T>(value: T): (error: unknown) => T {
  return (error) => {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return value;
    throw error;
  };
}
