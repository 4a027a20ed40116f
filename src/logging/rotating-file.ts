import { closeSync, constants, fstatSync, mkdirSync, openSync, renameSync, rmSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { LineWriter, type Sink } from './sink.js';

export interface RotatingFileOptions {
  readonly path: string;
  readonly maxBytes: number;
  /** The number of old files, as `<path>.1` (the newest) … `<path>.<keep>`. */
  readonly keep: number;
}

/**
 * A log file of bounded size. It is closed until the first write, and after a rotation. Every write checks that the path is still the open
 * file; a file that was moved or deleted is created again, with its directory. `write` throws the errors of the disk.
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
  // Without O_NONBLOCK a FIFO without a reader would block the daemon for ever.
  const { O_WRONLY, O_APPEND, O_CREAT, O_NONBLOCK } = constants;
  const fd = openSync(path, O_WRONLY | O_APPEND | O_CREAT | O_NONBLOCK, 0o600);
  const stats = fstatSync(fd);
  const lines = new LineWriter();
  return { fd, dev: stats.dev, ino: stats.ino, isFile: stats.isFile(), lines, bytes: stats.size };
}

function isStillAt(path: string, file: OpenFile): boolean {
  const stats = statSync(path, { throwIfNoEntry: false });
  return stats?.dev === file.dev && stats.ino === file.ino;
}

function isFull(file: OpenFile, line: string, { maxBytes }: RotatingFileOptions): boolean {
  return file.isFile && file.bytes > 0 && file.bytes + Buffer.byteLength(line) > maxBytes;
}

/** Returns false when the files cannot be renamed. The file then grows beyond its limit, so that no line is lost. */
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
