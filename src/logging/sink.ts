import { writeSync } from 'node:fs';

/** Takes whole lines that end in a newline. May throw. */
export interface Sink {
  readonly name: string;
  write(line: string): void;
}

/** Never throws. */
export interface SafeSink {
  write(line: string): void;
}

/**
 * A sink that breaks costs lines, never the daemon. Lines that cannot be written are counted; when the sink works again, the
 * first thing it gets is one line that says how many are missing. `onBroken` hears of each new break once.
 */
export function keepGoing(sink: Sink, onBroken: (name: string, error: unknown) => void): SafeSink {
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

/** A record about the log itself; the logger cannot be asked to write it. */
export function sinkRecord(msg: string, fields: { readonly [key: string]: unknown }): string {
  return `${JSON.stringify({ level: 'warn', time: new Date().toISOString(), ...fields, msg })}\n`;
}

export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return 'code' in error && typeof error.code === 'string' ? error.code : error.message;
}

/**
 * Writes lines to a file descriptor that may be full, slow or gone. A reader that has stopped reading holds the daemon up for
 * `PATIENCE_MS` once; after that its lines are refused at once until it reads again. A line torn by an error is
 * ended by a newline before the next one, so that it spoils no other.
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
