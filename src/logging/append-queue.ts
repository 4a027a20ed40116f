import { constants } from 'node:fs';
import { type FileHandle, mkdir, open } from 'node:fs/promises';
import { dirname } from 'node:path';

const FLUSH_BYTES = 64_000;
const FLUSH_MS = 200;

/**
 * Appends to a file without making its caller wait: lines are collected for a moment and written in batches, one after the
 * other. The file and its directory are made with the first batch. After the first error nothing more is written.
 */
export class AppendQueue {
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
