import { createInterface } from 'node:readline';
import { neutralise } from '../text/neutralise.js';
import type { Io } from './io.js';

/** The input ended while a question was open: Ctrl-C, Ctrl-D, or the end of a pipe. */
export class PromptClosed extends Error {}

/** Questions to the person at the terminal. */
export interface Prompt {
  /** Returns `fallback` for an empty answer. Throws `PromptClosed`. */
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
      // Piped answers may still be in `lines` after the input has ended.
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
