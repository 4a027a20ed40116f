import { writeSync } from 'node:fs';

/** Writes whole lines that end in a newline. May throw. */
export interface Sink {
  readonly name: string;
  write(line: string): void;
}

/** Never throws. */
export interface SafeSink {
  write(line: string): void;
}

/**
 * Wraps a sink so that a failure loses lines and never throws. Lost lines are counted; when the sink works again, its first line says how
 * many are missing. `onBroken` is called once for each new failure.
 */
export function lossySink(sink: Sink, onBroken: (name: string, error: unknown) => void): SafeSink {
  let lost = 0;
  let reason = '';

  return {
    write(line) {
      try {
        if (lost > 0) {
          sink.write(sinkRecord('log lines were lost', { sink: sink.name, lost, reason }));
          lost = 0;
        }
        sink.write(line);
      } catch (error) {
        lost += 1;
        reason = reasonOf(error);
        if (lost === 1) onBroken(sink.name, error);
      }
    },
  };
}

/** A record about the log itself, which the logger cannot write. */
export function sinkRecord(msg: string, fields: { readonly [key: string]: unknown }): string {
  return `${JSON.stringify({ level: 'warn', time: new Date().toISOString(), ...fields, msg })}\n`;
}

export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return 'code' in error && typeof error.code === 'string' ? error.code : error.message;
}

/**
 * Writes lines to a file descriptor that may be full, slow or closed. The writer is patient until a reader has stopped reading for
 * `PATIENCE_MS`; then it refuses lines at once until a line is written again. A line that an error cut off is `torn`: a newline is
 * written before the next line, so that it spoils no other line.
 */
export class LineWriter {
  #torn = false;
  #patient = true;

  write(fd: number, line: string): number {
    const bytes = Buffer.from(this.#torn ? `\n${line}` : line, 'utf8');
    let done = 0;
    const deadline = performance.now() + (this.#patient ? PATIENCE_MS : 0);
    while (done < bytes.length) {
      try {
        done += writeSync(fd, bytes, done);
      } catch (error) {
        if (isFull(error) && performance.now() < deadline) {
          Atomics.wait(NEVER_NOTIFIED, 0, 0, PAUSE_MS);
          continue;
        }
        if (isFull(error)) this.#patient = false;
        if (done > 0) this.#torn = true;
        throw error;
      }
    }
    this.#torn = false;
    this.#patient = true;
    return done;
  }
}

const PATIENCE_MS = 100;
const PAUSE_MS = 2;
const NEVER_NOTIFIED = new Int32Array(new SharedArrayBuffer(4));

function isFull(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'EAGAIN';
}
