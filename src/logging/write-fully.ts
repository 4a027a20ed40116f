import { writeSync } from 'node:fs';

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
