import { finished, type Readable } from 'node:stream';
import type { ProgramProcess } from '../program.js';

const MAX_LINE_BYTES = 32 * 1024 * 1024;
const MAX_STDERR_BYTES = 8 * 1024;

interface PipeEvents {
  /** A line of its stdout, as it came. */
  onLine(line: Buffer): void;
  /** It is over, and all lines have come. Called once. */
  onEnd(end: PipeEnd): void;
}

export interface PipeEnd {
  /** Goes on from "it …". */
  readonly how: string;
  /** It was ended for what it wrote. */
  readonly isFault: boolean;
  /** What it wrote after the last end of a line. */
  readonly rest: Buffer;
}

/**
 * The streams of one process: lines in, lines out, the last of its stderr. Whatever breaks with them (a closed stdin, a closed stdout, a
 * line without end) ends the process, and shows as its end.
 */
export class ProgramPipe {
  readonly #process: ProgramProcess;
  readonly #events: PipeEvents;
  readonly #lines: ByteLines;
  readonly #stderr = new LastBytes(MAX_STDERR_BYTES);
  /** What it did before we ended it, and what to say where only our signal is known of its end. */
  #fault: string | null = null;
  #suspicion: string | null = null;

  constructor(process: ProgramProcess, events: PipeEvents, maxLineBytes = MAX_LINE_BYTES) {
    this.#process = process;
    this.#events = events;
    this.#lines = new ByteLines(maxLineBytes);
    const { stdin, stdout, stderr } = process;
    stdin.on('error', () => this.#suspect('closed its stdin'));
    stdout.on('data', (chunk: Buffer) => this.#take(chunk, maxLineBytes));
    stderr.on('data', (chunk: Buffer) => this.#stderr.push(chunk));
    void overOf(stdout).then(() => this.#suspect('closed its stdout'));
    void this.#untilEnd(); // Tells by onEnd.
  }

  /** Nothing is thrown for a process that has ended: that shows as its end. */
  write(line: string): void {
    const { stdin } = this.#process;
    if (stdin.writable) stdin.write(`${line}\n`);
  }

  /** It has taken all that was written. */
  get isDrained(): boolean {
    return this.#process.stdin.writableLength === 0;
  }

  stderrText(): string {
    return this.#stderr.text();
  }

  closeStdin(): void {
    this.#process.stdin.end();
  }

  /** Ends it with all that it started. Never rejects: what cannot be ended is no reason to stop asking. */
  stop(): Promise<void> {
    return this.#process.stop().catch(() => {});
  }

  #take(chunk: Buffer, maxLineBytes: number): void {
    for (const line of this.#lines.push(chunk)) this.#events.onLine(line);
    if (!this.#lines.isOver || this.#fault !== null) return;
    this.#fault = `wrote a line of more than ${maxLineBytes} bytes`;
    void this.stop();
  }

  #suspect(what: string): void {
    this.#suspicion ??= what;
    void this.stop();
  }

  async #untilEnd(): Promise<void> {
    const { exited, stdout, stderr } = this.#process;
    const how = await exited;
    // What it left behind could hold its stdout open.
    await this.stop();
    await Promise.all([overOf(stdout), overOf(stderr)]);
    const bySignal = how.startsWith('exited') ? null : this.#suspicion;
    const isFault = this.#fault !== null;
    this.#events.onEnd({ how: this.#fault ?? bySignal ?? how, isFault, rest: this.#lines.rest() });
  }
}

/** Ended, closed or broken. */
function overOf(stream: Readable): Promise<void> {
  return new Promise((resolve) => void finished(stream, { writable: false }, () => resolve()));
}

const NEWLINE = 0x0a;
const FIRST_ROOM = 64 * 1024;
const NOTHING = Buffer.alloc(0);

/**
 * Cuts a stream of bytes into lines. On bytes, so that no character is decoded in halves; what waits for its end lies in one buffer
 * that doubles, so that neither a long line nor one that comes byte by byte costs more than its length. A line over the
 * limit is dropped, and from then on nothing more is taken.
 */
export class ByteLines {
  #held = NOTHING;
  #length = 0;
  #isOver = false;

  constructor(private readonly maxBytes: number) {}

  /** A line was longer than the limit. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** The lines that `chunk` completes, without their ends. */
  push(chunk: Buffer): Buffer[] {
    const lines: Buffer[] = [];
    let start = 0;
    while (!this.#isOver && start < chunk.length) {
      const at = chunk.indexOf(NEWLINE, start);
      const piece = chunk.subarray(start, at === -1 ? chunk.length : at);
      if (this.#length + piece.length > this.maxBytes) {
        this.#isOver = true;
        this.#forget();
      } else if (at === -1) {
        this.#keep(piece);
      } else {
        lines.push(this.#complete(piece));
      }
      start = at === -1 ? chunk.length : at + 1;
    }
    return lines;
  }

  /** What came after the last end of a line. */
  rest(): Buffer {
    return this.#complete(NOTHING);
  }

  #complete(last: Buffer): Buffer {
    if (this.#length === 0) return last;
    this.#keep(last);
    const line = this.#held.subarray(0, this.#length);
    this.#forget();
    return line;
  }

  #keep(piece: Buffer): void {
    const length = this.#length + piece.length;
    if (length > this.#held.length) {
      const grown = Buffer.allocUnsafeSlow(Math.min(Math.max(FIRST_ROOM, 2 * length), Math.max(length, this.maxBytes)));
      this.#held.copy(grown, 0, 0, this.#length);
      this.#held = grown;
    }
    piece.copy(this.#held, this.#length);
    this.#length = length;
  }

  #forget(): void {
    this.#held = NOTHING;
    this.#length = 0;
  }
}

/** The last bytes of an endless output. Takes at most twice the room that it keeps. */
export class LastBytes {
  #bytes = Buffer.alloc(0);
  #isCut = false;

  constructor(private readonly maxBytes: number) {}

  push(chunk: Buffer): void {
    this.#isCut ||= this.#bytes.length + chunk.length > this.maxBytes;
    const joined = chunk.length >= this.maxBytes ? chunk : Buffer.concat([this.#bytes, chunk]);
    // A copy: a slice would hold on to the whole chunk.
    this.#bytes = Buffer.from(joined.subarray(-this.maxBytes));
  }

  /** Without a first line that is cut: half a secret would not be known as one. */
  text(): string {
    const text = this.#bytes.toString('utf8');
    if (!this.#isCut) return text;
    const at = text.indexOf('\n');
    return text.slice(at === -1 ? text.length / 2 : at + 1);
  }
}
