import { closeSync, constants, fstatSync, mkdirSync, openSync, renameSync, rmSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Sink } from './sink.js';
import { LineWriter } from './sink.js';

export interface RotatingFileOptions {
  readonly path: string;
  readonly maxBytes: number;
  /** How many old files are kept beside it, as `<path>.1` (the youngest) … `<path>.<keep>`. */
  readonly keep: number;
}

/**
 * A log file of bounded size. Every write looks whether the path is still the file that is open: a file that someone moved
 * or deleted, with its directory or without, is made anew. `write` throws what the disk throws.
 */
export class RotatingFile implements Sink {
  readonly name = 'file';
  readonly #options: RotatingFileOptions;
  #current: OpenFile | null = null;

  constructor(options: RotatingFileOptions) {
    this.#options = options;
  }

  write(line: string): void {
    if (this.#current && !isStillAt(this.#options.path, this.#current)) this.close();
    this.#current ??= openFile(this.#options.path);
    if (isFull(this.#current, line, this.#options) && rotate(this.#options)) {
      this.close();
      this.#current = openFile(this.#options.path);
    }
    this.#current.bytes += this.#current.lines.write(this.#current.fd, line);
  }

  close(): void {
    if (this.#current) closeSync(this.#current.fd);
    this.#current = null;
  }
}

interface OpenFile {
  readonly fd: number;
  readonly dev: number;
  readonly ino: number;
  /** False for a device or a FIFO, which has no size. */
  readonly isFile: boolean;
  readonly lines: LineWriter;
  bytes: number;
}

function openFile(path: string): OpenFile {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  // Without O_NONBLOCK, a FIFO that nobody reads would hold the daemon for ever.
  const { O_WRONLY, O_APPEND, O_CREAT, O_NONBLOCK } = constants;
  const fd = openSync(path, O_WRONLY | O_APPEND | O_CREAT | O_NONBLOCK, 0o600);
  const stats = fstatSync(fd);
  const lines = new LineWriter();
  return { fd, dev: stats.dev, ino: stats.ino, isFile: stats.isFile(), lines, bytes: stats.size };
}

function isStillAt(path: string, file: OpenFile): boolean {
  const found = statSync(path, { throwIfNoEntry: false });
  return found?.dev === file.dev && found.ino === file.ino;
}

function isFull(file: OpenFile, line: string, { maxBytes }: RotatingFileOptions): boolean {
  return file.isFile && file.bytes > 0 && file.bytes + Buffer.byteLength(line) > maxBytes;
}

/** False when the directory does not let us: then the file grows on, for its lines are worth more than its size. */
function rotate({ path, keep }: RotatingFileOptions): boolean {
  try {
    if (keep === 0) rmSync(path);
    for (let age = keep - 1; age >= 0; age--) {
      const from = age === 0 ? path : `${path}.${age}`;
      if (statSync(from, { throwIfNoEntry: false })) renameSync(from, `${path}.${age + 1}`);
    }
    return true;
  } catch {
    return false;
  }
}
