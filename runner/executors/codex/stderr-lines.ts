import type { Readable } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';
import { cutText } from './bound-data.js';
import { type FairScheduler, readFairly } from './fair-reader.js';

/** stderr of the agent, line by line and bounded. It is for people: never parsed, never progress. */
const MAX_LINE = 4_000;
const MAX_TAIL = 500;

export class StderrLines {
  readonly #decoder = new StringDecoder('utf8');
  #rest = '';
  #tail = '';

  constructor(
    stream: Readable,
    scheduler: FairScheduler,
    private readonly onLine: (line: string) => void,
  ) {
    readFairly(stream, scheduler, {
      onChunk: (chunk) => {
        this.#take(this.#decoder.write(chunk));
        return undefined;
      },
      onEnd: () => this.#take(`${this.#decoder.end()}\n`),
    });
  }

  lastWords(): string {
    return `${this.#tail} ${this.#rest}`.trim().slice(-MAX_TAIL);
  }

  #take(text: string): void {
    const lines = (this.#rest + text).split(/\r?\n/);
    this.#rest = lines.pop() ?? '';
    for (const line of lines) this.#give(line);
    if (this.#rest.length > MAX_LINE) {
      this.#give(this.#rest);
      this.#rest = '';
    }
  }

  #give(line: string): void {
    if (line.trim() === '') return;
    this.#tail = `${this.#tail} ${line.slice(-MAX_TAIL)}`.slice(-MAX_TAIL);
    this.onLine(cutText(line, MAX_LINE));
  }
}
