import { finished, type Readable } from 'node:stream';
import type { ProgramProcess } from '../program.js';

const MAX_LINE_BYTES = 32 * 1024 * 1024;
const MAX_STDERR_BYTES = 8 * 1024;

interface PipeEvents {
  /** A line of stdout, undecoded. */
  onLine(line: Buffer): void;
  /** Called once, after the last line. */
  onEnd(end: PipeEnd): void;
}

export interface PipeEnd {
  /** Continues "it …". */
  readonly how: string;
  /** It was ended because of what it wrote. */
  readonly isFault: boolean;
  /** The output after the last line end. */
  readonly rest: Buffer;
}

/**
 * The streams of one process: lines in, lines out, and the end of stderr. A broken stream (closed stdin, closed stdout, an
 * endless line) ends the process.
 */
export class ProgramPipe {
  readonly #process: ProgramProcess;
  readonly #events: PipeEvents;
  readonly #lines: ByteLines;
  readonly #stderr = new LastBytes(MAX_STDERR_BYTES);
  /** Why Baton ended it: it broke the protocol, or a stream closed. The latter counts only without an exit code. */
  #fault: string | null = null;
  #closedStream: string | null = null;

  constructor(process: ProgramProcess, events: PipeEvents, maxLineBytes = MAX_LINE_BYTES) {
    this.#process = process;
    this.#events = events;
    this.#lines = new ByteLines(maxLineBytes);
    const { stdin, stdout, stderr } = process;
    stdin.on('error', () => this.#endAfterClose('closed its stdin'));
    stdout.on('data', (chunk: Buffer) => this.#take(chunk, maxLineBytes));
    stderr.on('data', (chunk: Buffer) => this.#stderr.push(chunk));
    void endOf(stdout).then(() => this.#endAfterClose('closed its stdout'));
    void this.#waitForEnd(); // Reports by onEnd.
  }

  /** Does nothing after the end of the process, which `onEnd` reports. */
  write(line: string): void {
    const { stdin } = this.#process;
    if (stdin.writable) stdin.write(`${line}\n`);
  }

  /** The process has read everything that was written. */
  get isDrained(): boolean {
    return this.#process.stdin.writableLength === 0;
  }

  stderrText(): string {
    return this.#stderr.text();
  }

  closeStdin(): void {
    this.#process.stdin.end();
  }

  /** Ends the process tree. Never rejects: a process that cannot be ended must not stop the polls. */
  stop(): Promise<void> {
    return this.#process.stop().catch(() => {});
  }

  #take(chunk: Buffer, maxLineBytes: number): void {
    for (const line of this.#lines.push(chunk)) this.#events.onLine(line);
    if (!this.#lines.isOver || this.#fault !== null) return;
    this.#fault = `wrote a line of more than ${maxLineBytes} bytes`;
    void this.stop();
  }

  #endAfterClose(what: string): void {
    this.#closedStream ??= what;
    void this.stop();
  }

  async #waitForEnd(): Promise<void> {
    const { exited, stdout, stderr } = this.#process;
    const how = await exited;
    // Its child processes could hold stdout open.
    await this.stop();
    await Promise.all([endOf(stdout), endOf(stderr)]);
    const bySignal = how.startsWith('exited') ? null : this.#closedStream;
    const isFault = this.#fault !== null;
    this.#events.onEnd({ how: this.#fault ?? bySignal ?? how, isFault, rest: this.#lines.rest() });
  }
}

/** Resolves when the stream has ended, closed or failed. */
function endOf(stream: Readable): Promise<void> {
  return new Promise((resolve) => void finished(stream, { writable: false }, () => resolve()));
}

const NEWLINE = 0x0a;
const FIRST_ROOM = 64 * 1024;
const NOTHING = Buffer.alloc(0);

/**
 * Splits a stream of bytes into lines, before decoding, so that no character is cut. An incomplete line lies in one buffer that
 * doubles, so that any line costs time in proportion to its length. A line over the limit ends the splitting.
 */
export class ByteLines {
  #buffer = NOTHING;
  #length = 0;
  #isOver = false;

  constructor(private readonly maxBytes: number) {}

  /** A line was longer than the limit. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** Returns the lines that `chunk` completes, without their line ends. */
  push(chunk: Buffer): Buffer[] {
    const lines: Buffer[] = [];
    let start = 0;
    while (!this.#isOver && start < chunk.length) {
      const at = chunk.indexOf(NEWLINE, start);
      const piece = chunk.subarray(start, at === -1 ? chunk.length : at);
      if (this.#length + piece.length > this.maxBytes) {
        this.#isOver = true;
        this.#reset();
      } else if (at === -1) {
        this.#append(piece);
      } else {
        lines.push(this.#complete(piece));
      }
      start = at === -1 ? chunk.length : at + 1;
    }
    return lines;
  }

  /** The bytes after the last line end. */
  rest(): Buffer {
    return this.#complete(NOTHING);
  }

  #complete(last: Buffer): Buffer {
    if (this.#length === 0) return last;
    this.#append(last);
    const line = this.#buffer.subarray(0, this.#length);
    this.#reset();
    return line;
  }

  #append(piece: Buffer): void {
    const length = this.#length + piece.length;
    if (length > this.#buffer.length) {
      const grown = Buffer.allocUnsafeSlow(Math.min(Math.max(FIRST_ROOM, 2 * length), Math.max(length, this.maxBytes)));
      this.#buffer.copy(grown, 0, 0, this.#length);
      this.#buffer = grown;
    }
    piece.copy(this.#buffer, this.#length);
    this.#length = length;
  }

  #reset(): void {
    this.#buffer = NOTHING;
    this.#length = 0;
  }
}

/** Keeps the last bytes of an output, in at most twice their size. */
export class LastBytes {
  #bytes = Buffer.alloc(0);
  #isCut = false;

  constructor(private readonly maxBytes: number) {}

  push(chunk: Buffer): void {
    this.#isCut ||= this.#bytes.length + chunk.length > this.maxBytes;
    const joined = chunk.length >= this.maxBytes ? chunk : Buffer.concat([this.#bytes, chunk]);
    // A copy, because a slice would keep the whole chunk in memory.
    this.#bytes = Buffer.from(joined.subarray(-this.maxBytes));
  }

  /** Without a truncated first line: the mask would not recognise half a secret. */
  text(): string {
    const text = this.#bytes.toString('utf8');
    if (!this.#isCut) return text;
    const at = text.indexOf('\n');
    return text.slice(at === -1 ? text.length / 2 : at + 1);
  }
}
