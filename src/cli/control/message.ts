import type { Readable } from 'node:stream';
import { messageRequestShape } from '../../status/shapes/request-shapes.js';
import type { DaemonTarget } from '../daemon-place.js';
import type { Io } from '../io.js';
import { change } from '../control.js';

export interface MessageOptions {
  readonly issue: string;
  /** `-` alone: standard input. */
  readonly words: readonly string[];
  readonly target: DaemonTarget;
}

const MAX_CHARS = 20_000;

/** Says something to the agent that works on an issue. */
export async function message({ issue, words, target }: MessageOptions, io: Io): Promise<number> {
  const text = words.length === 1 && words[0] === '-' ? await textOf(io.stdin) : words.join(' ');
  const said = messageRequestShape.safeParse({ text });
  if (said.success) return change({ issue, action: 'message', body: said.data, target }, io);
  const problem = text.trim() === '' ? 'there is nothing to say' : `it is longer than ${MAX_CHARS} characters`;
  io.stderr.write(`baton: ${problem}\n`);
  return 2;
}

/** No more than is needed to know that it is too much. */
async function textOf(stdin: Readable): Promise<string> {
  let text = '';
  for await (const chunk of stdin.setEncoding('utf8')) {
    text += chunk;
    if (text.length > 4 * MAX_CHARS) break;
  }
  return text;
}
