import type { Readable } from 'node:stream';
import { acceptedShape, messageRequestShape, refreshShape } from '../api/schemas.js';
import { localiseTimes } from '../text/format-time.js';
import { neutraliseLines } from '../text/neutralise.js';
import type { DaemonTarget } from './client.js';
import { connectDaemon, issuePath, printDaemonError, withDaemon } from './client.js';
import type { Io } from './io.js';

export interface ChangeOptions {
  /** `null`: it is about the whole daemon. */
  readonly issue: string | null;
  readonly action: 'stop' | 'retry' | 'pause' | 'resume' | 'answer' | 'message';
  readonly body?: object;
  readonly target: DaemonTarget;
}

/** Asks the daemon for something and prints what comes of it. */
export function change({ issue, action, body = {}, target }: ChangeOptions, io: Io): Promise<number> {
  return withDaemon(target, io, async (client) => {
    const path = issue === null ? `/api/v1/${action}` : issuePath(issue, action);
    const { message } = await client.post(path, body, acceptedShape);
    io.stdout.write(`${neutraliseLines(localiseTimes(message, Date.now()))}\n`);
    return 0;
  });
}

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

/** Asks the daemon to read the tracker now. */
export async function refresh(target: DaemonTarget, io: Io): Promise<number> {
  try {
    const client = await connectDaemon(target, io);
    const { coalesced } = await client.post('/api/v1/refresh', {}, refreshShape).finally(() => client.close());
    io.stdout.write(coalesced ? SOON : NOW);
    return 0;
  } catch (error) {
    return printDaemonError(error, io);
  }
}

const NOW = 'The tracker is read now.\n';
const SOON = 'The tracker is being read, or about to be: this goes along with it.\n';
