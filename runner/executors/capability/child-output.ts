import type { Readable } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';
import { type FairScheduler, readFairly } from '../codex/fair-reader.js';

const MAX_LINE_CHARACTERS = 4_000;
const MAX_TOTAL_CHARACTERS = 1_000_000;
/** What a line costs in the transcript besides its text: short ones are not free. */
const CHARACTERS_PER_LINE = 100;
const TAIL_CHARACTERS = 8_000;

/**
 * Console output of a child, line by line and up to a limit; what comes after it is read and dropped, so that the child never
 * blocks on it.
 */
export class ChildOutput {
  /** The last of it, for a look at how it ended. */
  tail = '';
  readonly ended: Promise<void>;
  readonly #decoder = new StringDecoder('utf8');
  #rest = '';
  #told = 0;

  constructor(
    stream: Readable,
    scheduler: FairScheduler,
    private readonly listener: { onLine(text: string): void; onBytes(): void },
  ) {
    this.ended = new Promise((resolve) => {
      readFairly(stream, scheduler, {
        onChunk: (chunk) => this.#push(this.#decoder.write(chunk)),
        onEnd: () => {
          this.#push(`${this.#decoder.end()}\n`);
          resolve();
        },
      });
    });
  }

  #push(text: string): undefined {
    this.listener.onBytes();
    this.tail = (this.tail + text).slice(-TAIL_CHARACTERS);
    const lines = (this.#rest + text).split('\n');
    this.#rest = lines.pop() ?? '';
    for (const line of lines) this.#tell(line);
    // A line without an end is told in pieces.
    while (this.#rest.length > MAX_LINE_CHARACTERS) {
      this.#tell(this.#rest.slice(0, MAX_LINE_CHARACTERS));
      this.#rest = this.#rest.slice(MAX_LINE_CHARACTERS);
    }
  }

  #tell(line: string): void {
    if (line.trim() === '' || this.#told >= MAX_TOTAL_CHARACTERS) return;
    const text = line.slice(0, MAX_LINE_CHARACTERS);
    this.#told += text.length + CHARACTERS_PER_LINE;
    this.listener.onLine(
      this.#told < MAX_TOTAL_CHARACTERS ? text : 'It printed more than is kept; the rest is left out.',
    );
  }
}
