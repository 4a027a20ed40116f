import type { Readable } from 'node:stream';
import { finished } from 'node:stream/promises';
import { type Clock, TimeLimit } from '../../src/domain/clock.js';
import type { ContainedProcess, ExitStatus } from './process.js';

export interface CapturedOutput {
  readonly stdout: string;
  readonly stderr: string;
  /** The middle of one of them was left out. */
  readonly truncated: boolean;
  readonly status: ExitStatus;
}

/**
 * Waits for the end of the command and returns its output, at most `maxBytes` of each stream. A process that it leaves behind and that
 * holds the streams open delays the result by `drainMs` at most. The caller still stops the process. Never rejects.
 */
export async function captureOutput(process: ContainedProcess, options: DrainOptions): Promise<CapturedOutput> {
  const [stdout, stderr, status] = await Promise.all([
    drain(process.stdout, process.exited, options),
    drain(process.stderr, process.exited, options),
    process.exited,
  ]);
  return { stdout: stdout.text, stderr: stderr.text, truncated: stdout.isCut || stderr.isCut, status };
}

interface DrainOptions {
  /** The part of the stream that is kept. The rest is read and dropped, so that the process never blocks. */
  readonly maxBytes: number;
  readonly clock: Clock;
  /** The time to read after the exit: a process that was left behind may hold the stream open for ever. */
  readonly drainMs: number;
}

interface DrainedText {
  readonly text: string;
  readonly isCut: boolean;
}

/** Reads a stream to its end, or until `drainMs` after the exit. Later output is read and dropped. Never rejects. */
export async function drain(stream: Readable, exited: Promise<unknown>, options: DrainOptions): Promise<DrainedText> {
  const kept = new HeadAndTail(options.maxBytes);
  const keep = (chunk: Buffer) => kept.push(chunk);
  stream.on('data', keep);
  // A broken stream counts as ended.
  const ended = finished(stream, { writable: false }).catch(() => {});

  await exited;
  const limit = new TimeLimit(options.clock, options.drainMs);
  await limit.race(ended);
  limit.end();
  stream.off('data', keep); // The stream keeps flowing.
  return { text: kept.text(), isCut: kept.isCut };
}

/** Keeps the first and the last bytes of an output of any length and counts the bytes in between. Its memory is bounded. */
export class HeadAndTail {
  readonly #head: Buffer;
  readonly #tail: Buffer;
  #total = 0;

  constructor(maxBytes: number) {
    const headBytes = Math.ceil(maxBytes / 2);
    this.#head = Buffer.alloc(headBytes);
    this.#tail = Buffer.alloc(maxBytes - headBytes);
  }

  push(chunk: Buffer): void {
    const room = Math.max(0, this.#head.length - this.#total);
    chunk.copy(this.#head, this.#total, 0, room);
    const start = this.#total + Math.min(room, chunk.length);
    this.#total += chunk.length;
    this.#pushTail(chunk.subarray(room), start - this.#head.length);
  }

  get isCut(): boolean {
    return this.#total > this.#head.length + this.#tail.length;
  }

  /** The kept text, without characters that were cut in two. */
  text(): string {
    const head = this.#head.subarray(0, Math.min(this.#total, this.#head.length));
    const tail = this.#orderedTail();
    if (!this.isCut) return Buffer.concat([head, tail]).toString('utf8');

    const first = head.subarray(0, wholeCharactersEnd(head));
    const last = tail.subarray(firstCharacterStart(tail));
    return `${first}\n[… ${this.#total - first.length - last.length} bytes left out …]\n${last}`;
  }

  /** The tail is a ring buffer: byte `n` after the head is at index `n` modulo its size. */
  #pushTail(chunk: Buffer, offset: number): void {
    const size = this.#tail.length;
    if (chunk.length === 0 || size === 0) return;
    const skip = Math.max(0, chunk.length - size);
    const kept = chunk.subarray(skip);
    const at = (offset + skip) % size;
    const beforeWrap = kept.copy(this.#tail, at);
    kept.copy(this.#tail, 0, beforeWrap);
  }

  #orderedTail(): Buffer {
    const pushed = Math.max(0, this.#total - this.#head.length);
    if (pushed <= this.#tail.length) return this.#tail.subarray(0, pushed);
    const oldest = pushed % this.#tail.length || 0;
    return Buffer.concat([this.#tail.subarray(oldest), this.#tail.subarray(0, oldest)]);
  }
}

const isContinuation = (byte: number) => (byte & 0xc0) === 0x80;

function firstCharacterStart(bytes: Buffer): number {
  let start = 0;
  while (start < Math.min(3, bytes.length) && isContinuation(bytes[start] ?? 0)) start += 1;
  return start;
}

function wholeCharactersEnd(bytes: Buffer): number {
  let lead = bytes.length - 1;
  while (lead > 0 && bytes.length - lead < 4 && isContinuation(bytes[lead] ?? 0)) lead -= 1;
  const byte = bytes[lead] ?? 0;
  const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
  return lead >= 0 && lead + length > bytes.length ? lead : bytes.length;
}
