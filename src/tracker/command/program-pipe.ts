import { finished, type Readable } from 'node:stream';
import type { ProgramProcess } from '../program.js';
import { ByteLines } from './byte-lines.js';
import { LastBytes } from './last-bytes.js';

export const MAX_LINE_BYTES = 32 * 1024 * 1024;
const MAX_STDERR_BYTES = 8 * 1024;

export interface PipeEvents {
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
