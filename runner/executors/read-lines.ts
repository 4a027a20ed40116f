import type { Readable } from 'node:stream';

export const MAX_LINE_BYTES = 10 * 1024 * 1024;

const NEWLINE = 0x0a;
const BLOCK_BYTES = 64 * 1024;
const SMALL_BYTES = 16 * 1024;

/**
 * Splits a byte stream into lines. It works on bytes, so that a character at a chunk border is never decoded in halves, and collects
 * chunks in a list, so that a long line is copied once. After a line longer than the maximum it is `overflowed` and ignores all further
 * bytes.
 */
export class LineSplitter {
  #parts: Buffer[] = [];
  #bytes = 0;
  #block: { readonly bytes: Buffer; used: number } | null = null;
  #overflowed = false;

  constructor(private readonly maxBytes = MAX_LINE_BYTES) {}

  get overflowed(): boolean {
    return this.#overflowed;
  }

  /** The lines that `chunk` completes, without their newline. */
  push(chunk: Buffer): Buffer[] {
    const lines: Buffer[] = [];
    let start = 0;
    while (!this.#overflowed) {
      const end = chunk.indexOf(NEWLINE, start);
      const piece = chunk.subarray(start, end === -1 ? chunk.length : end);
      if (this.#bytes + piece.length > this.maxBytes) {
        this.#overflowed = true;
        this.#reset();
        break;
      }
      if (end === -1) {
        this.#append(piece);
        break;
      }
      lines.push(this.#complete(piece));
      start = end + 1;
    }
    return lines;
  }

  /** The bytes after the last newline, or `null`. */
  end(): Buffer | null {
    if (this.#bytes === 0) return null;
    return this.#complete(Buffer.alloc(0));
  }

  #complete(last: Buffer): Buffer {
    if (this.#bytes === 0) return last;
    this.#closeBlock();
    const line = Buffer.concat([...this.#parts, last], this.#bytes + last.length);
    this.#reset();
    return line;
  }

  // Small pieces are copied together: an agent that writes single bytes must not cost a Buffer object for each.
  #append(piece: Buffer): void {
    if (piece.length === 0) return;
    const isFirst = this.#bytes === 0;
    this.#bytes += piece.length;
    if (isFirst || piece.length > SMALL_BYTES) {
      this.#closeBlock();
      this.#parts.push(piece);
      return;
    }
    if (!this.#block || this.#block.used + piece.length > BLOCK_BYTES) {
      this.#closeBlock();
      this.#block = { bytes: Buffer.allocUnsafeSlow(BLOCK_BYTES), used: 0 };
    }
    piece.copy(this.#block.bytes, this.#block.used);
    this.#block.used += piece.length;
  }

  #closeBlock(): void {
    if (this.#block) this.#parts.push(this.#block.bytes.subarray(0, this.#block.used));
    this.#block = null;
  }

  #reset(): void {
    this.#parts = [];
    this.#block = null;
    this.#bytes = 0;
  }
}

const STREAMS_PER_ITERATION = 4;

/** Resumes paused streams in turn, a few per iteration of the event loop, so that timers, the API and quiet agents are not delayed. */
export class FairScheduler {
  #waiting: (() => void)[] = [];
  #scheduled = false;

  add(task: () => void): void {
    this.#waiting.push(task);
    this.#schedule();
  }

  /** Resolves when it is the turn of the caller. */
  turn(): Promise<void> {
    return new Promise((resolve) => this.add(resolve));
  }

  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      for (const task of this.#waiting.splice(0, STREAMS_PER_ITERATION)) task();
      if (this.#waiting.length > 0) this.#schedule();
    });
  }
}

interface ChunkListener {
  /** The next chunk is read only after the promise settles (back pressure). */
  onChunk(chunk: Buffer): Promise<void> | undefined;
  /** Called once, when the stream ended, failed or was destroyed. */
  onEnd(): void;
}

/** Reads a stream chunk by chunk. After each chunk it is paused until the shared scheduler resumes it. */
export function readFairly(stream: Readable, scheduler: FairScheduler, listener: ChunkListener): void {
  let ended = false;
  const end = () => {
    if (ended) return;
    ended = true;
    listener.onEnd();
  };
  const resume = () => scheduler.add(() => stream.resume());

  stream.on('data', (chunk: Buffer) => {
    stream.pause();
    const handled = listener.onChunk(chunk);
    if (handled) void handled.then(resume);
    else resume();
  });
  stream.on('end', end);
  stream.on('close', end);
  stream.on('error', end);
}
