import { createInterface } from 'node:readline';
import { neutralise } from '../text/neutralise.js';
import type { Io } from './io.js';

/** The person went away in the middle: Ctrl-C, Ctrl-D. */
export class PromptClosed extends Error {}

export interface Prompt {
  /** The answer; an empty one is the default, if there is any. Throws `Abandoned`. */
  ask(question: string, fallback: string): Promise<string>;
  close(): void;
}

export function openPrompt(io: Io): Prompt {
  const isTerminal = 'isTTY' in io.stdin && io.stdin.isTTY === true;
  const reader = createInterface({ input: io.stdin, output: io.stdout, terminal: isTerminal });
  const lines: string[] = [];
  let isClosed = false;
  let wake = () => {};
  reader.on('line', (line) => {
    lines.push(line);
    wake();
  });
  reader.on('close', () => {
    isClosed = true;
    wake();
  });
  return {
    async ask(question, fallback) {
      reader.setPrompt(fallback === '' ? `${question} ` : `${question} [${neutralise(fallback)}] `);
      // Answers that were piped in may be here already when the input has ended.
      if (!isClosed) reader.prompt();
      while (lines.length === 0) {
        if (isClosed) throw new PromptClosed();
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
      return lines.shift()?.trim() || fallback;
    },
    close: () => reader.close(),
  };
}
