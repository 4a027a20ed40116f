import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';
import { type FileHandle, mkdir, open, readdir, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fieldsOf } from '../domain/json.js';
import { type Redactor, safeLine } from './redact.js';

interface TranscriptOptions {
  readonly redactor: Redactor;
  readonly maxBytes?: number;
  /** An earlier daemon began it, so its last line may be incomplete. */
  readonly continues?: boolean;
  /** Called once when the file cannot be written. The run continues without its transcript. */
  readonly onError?: (error: Error) => void;
}

export interface Transcript {
  readonly path: string;
  /** Never throws and never blocks. */
  write(kind: string, data: unknown): void;
  /** Resolves when everything is in the file. Never rejects; may be called twice. */
  close(): Promise<void>;
}

const DEFAULT_MAX_BYTES = 50_000_000;
/** When more than this waits for a slow disk, lines are dropped. A single line may be longer. */
const MAX_WAITING_BYTES = 8_000_000;
/** Kept free for the two lines that report missing lines. */
const RESERVED_BYTES = 300;
/** More than a `gap` line. */
const GAP_BYTES = 150;
/** Lines about people and Baton. A share of the file is reserved for them, so that no agent can push them out. */
const OWN_KINDS: ReadonlySet<string> = new Set([
  ...['run_began', 'closing_began', 'run_ended', 'prompt', 'hook', 'step_started', 'step_finished'],
  ...['asked', 'answered', 'message', 'unheard'],
]);
const OWN_SHARE = 0.05;

/**
 * Opens the transcript of a run: JSON lines `{time, kind, data}` in `<dir>/<run id>.jsonl`. It is bounded. When `maxBytes` are nearly reached
 * a `cut` line follows and lines of the agent are dropped; at the close a second `cut` line has the number of dropped lines. Lines
 * dropped because the disk is too slow are counted by a `gap` line in their place.
 */
export function openTranscript(dir: string, runId: string, options: TranscriptOptions): Transcript {
  const path = join(dir, transcriptName(runId));
  const file = new BatchWriter(path, options.onError ?? (() => {}));
  const maxBytes = options.maxBytes ?? DEFAULT_MAX_BYTES;
  let bytes = 0;
  let dropped = 0;
  let isCut = false;
  const diffs = new DiffFilter();
  let closing: Promise<void> | null = null;
  if (options.continues && isTorn(path)) file.append(Buffer.from('\n'));

  const append = (line: Buffer): void => {
    bytes += line.length;
    file.append(line);
  };
  const appendMark = (kind: string, data: object): void => append(Buffer.from(`${formatLine(kind, data)}\n`));

  const write = (kind: string, data: unknown): void => {
    const isOwn = OWN_KINDS.has(kind);
    if ((isCut && !isOwn) || file.waitingBytes > MAX_WAITING_BYTES) {
      dropped += 1;
      return;
    }
    const line = Buffer.from(safeLine(formatLine(kind, data), options.redactor));
    const isAfterGap = dropped > 0 && !isCut;
    const room = isOwn ? maxBytes : maxBytes * (1 - OWN_SHARE);
    if (bytes + (isAfterGap ? GAP_BYTES : 0) + line.length + RESERVED_BYTES > room) {
      dropped += 1;
      if (!isCut) appendMark('cut', { max_bytes: maxBytes });
      isCut = true;
      return;
    }
    if (isAfterGap) appendMark('gap', { lines: dropped });
    append(line);
    if (!isCut) dropped = 0;
  };

  const finish = (): Promise<void> => {
    for (const line of diffs.flush()) write(line.kind, line.data);
    if (dropped > 0) appendMark(isCut ? 'cut' : 'gap', { lines: dropped });
    return file.close();
  };

  return {
    path,
    write(kind, data) {
      if (closing !== null || file.isBroken) return;
      for (const line of diffs.filter({ kind, data }, performance.now())) write(line.kind, line.data);
    },
    close() {
      closing ??= finish();
      return closing;
    },
  };
}

/** The file name of a run. Even a hostile id names a file in the directory. */
export function transcriptName(runId: string): string {
  return `${runId.replace(/[^A-Za-z0-9_-]/g, '_').slice(0, 200)}.jsonl`;
}

function formatLine(kind: string, data: unknown): string {
  const time = new Date().toISOString();
  try {
    return JSON.stringify({ time, kind, data: data ?? null });
  } catch (error) {
    return JSON.stringify({ time, kind, data: `not writable as JSON: ${(error as Error).message}` });
  }
}

/** Returns true when the file ends in the middle of a line, and false when it cannot be read. */
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

const BATCH_BYTES = 128_000;
const FLUSH_MS = 200;

/**
 * Appends lines to a file without blocking the caller. Lines are collected for a moment and written in batches, one after the other. They
 * wait as bytes in a buffer that is used again: as strings they would fill the heap until the next full garbage collection. The file is
 * created with the first batch. After the first error it is broken and writes nothing more.
 */
class BatchWriter {
  readonly #path: string;
  readonly #onError: (error: Error) => void;
  #batch: Buffer | null = null;
  #used = 0;
  /** A batch that was full and is written. A transcript with little to write keeps none. */
  #spare: Buffer | null = null;
  #waitingBytes = 0;
  #timer: NodeJS.Timeout | null = null;
  #file: FileHandle | null = null;
  #isBroken = false;
  #written: Promise<void> = Promise.resolve();

  constructor(path: string, onError: (error: Error) => void) {
    this.#path = path;
    this.#onError = onError;
  }

  /** Bytes that are not in the file yet. */
  get waitingBytes(): number {
    return this.#waitingBytes;
  }

  get isBroken(): boolean {
    return this.#isBroken;
  }

  append(line: Buffer): void {
    this.#waitingBytes += line.length;
    if (this.#used + line.length > BATCH_BYTES) {
      const full = this.#batch;
      this.#flush(() => {
        this.#spare = full;
      });
    }
    if (line.length > BATCH_BYTES) return this.#enqueue(line);
    this.#batch ??= this.#spare ?? Buffer.allocUnsafeSlow(BATCH_BYTES);
    this.#spare = null;
    this.#used += line.copy(this.#batch, this.#used);
    this.#timer ??= setTimeout(() => this.#flush(), FLUSH_MS).unref();
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

  #flush(onWritten = () => {}): void {
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = null;
    if (this.#batch) this.#enqueue(this.#batch.subarray(0, this.#used), onWritten);
    this.#batch = null;
    this.#used = 0;
  }

  #enqueue(bytes: Buffer, onWritten = () => {}): void {
    this.#written = this.#written.then(async () => {
      await this.#write(bytes);
      this.#waitingBytes -= bytes.length;
      onWritten();
    });
  }

  async #write(bytes: Buffer): Promise<void> {
    if (this.#isBroken) return;
    try {
      this.#file ??= await create(this.#path);
      await this.#file.appendFile(bytes);
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

const MIN_INTERVAL_MS = 10_000;

interface Line {
  readonly kind: string;
  readonly data: unknown;
}

/**
 * Thins the diffs of a turn. The agent sends the whole diff after every edit; this passes one at most every `MIN_INTERVAL_MS`, and always the
 * last one of the turn. A held diff is replaced by the next one.
 */
class DiffFilter {
  #held: Line | null = null;
  #writtenAtMs = Number.NEGATIVE_INFINITY;

  /** The lines to write now. */
  filter(line: Line, nowMs: number): readonly Line[] {
    if (!isDiff(line)) return isTurnEnd(line) ? [...this.flush(), line] : [line];
    if (nowMs - this.#writtenAtMs < MIN_INTERVAL_MS) {
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
  /** The number of transcripts to keep, the newest. */
  readonly keep: number;
  /** Older transcripts are removed even when there are fewer. */
  readonly maxAgeMs?: number;
  /** Runs whose transcripts are still open. */
  readonly liveRunIds?: readonly string[];
}

interface PruneResult {
  readonly removed: readonly string[];
  /** Files that could not be removed. */
  readonly failed: readonly { readonly file: string; readonly message: string }[];
}

/** Removes old transcripts, by the time of their last line. Other files in the directory are not touched. */
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

/** The newest first. */
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
