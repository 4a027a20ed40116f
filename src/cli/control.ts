import type { Readable } from 'node:stream';
import { acceptedShape, messageRequestShape, refreshShape } from '../api/schemas.js';
import { localiseTimes } from '../text/format-time.js';
import { neutraliseLines } from '../text/neutralise.js';
import { type DaemonTarget, issuePath, withDaemon } from './client.js';
import { type Io, printProblem } from './io.js';

export interface ChangeOptions {
  /** Null when the action is about the whole daemon. */
  readonly issue: string | null;
  readonly action: 'stop' | 'retry' | 'pause' | 'resume' | 'message';
  readonly body?: object;
  readonly target: DaemonTarget;
}

/** Sends an action to the daemon and prints its answer. */
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
  /** `-` alone: read from standard input. */
  readonly words: readonly string[];
  readonly target: DaemonTarget;
}

const MAX_CHARS = 20_000;

/** Sends a message to the agent of an issue. */
export async function message({ issue, words, target }: MessageOptions, io: Io): Promise<number> {
  const text = words.length === 1 && words[0] === '-' ? await readText(io.stdin) : words.join(' ');
  const request = messageRequestShape.safeParse({ text });
  if (request.success) return change({ issue, action: 'message', body: request.data, target }, io);
  return printProblem(text.trim() === '' ? 'the message is empty' : `it is longer than ${MAX_CHARS} characters`, 2, io);
}

/** Stops reading once the text is certainly too long. */
async function readText(stdin: Readable): Promise<string> {
  let text = '';
  for await (const chunk of stdin.setEncoding('utf8')) {
    text += chunk;
    if (text.length > 4 * MAX_CHARS) break;
  }
  return text;
}

/** Makes the daemon read the tracker now. */
export function refresh(target: DaemonTarget, io: Io): Promise<number> {
  return withDaemon(target, io, async (client) => {
    const { coalesced } = await client.post('/api/v1/refresh', {}, refreshShape);
    io.stdout.write(coalesced ? 'The daemon is already reading the tracker.\n' : 'The daemon reads the tracker now.\n');
    return 0;
  });
}
