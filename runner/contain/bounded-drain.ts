import type { Readable } from 'node:stream';
import { finished } from 'node:stream/promises';
import type { Clock } from '../../src/domain/clock.js';
import { HeadAndTail } from './head-and-tail.js';
import { TimeLimit } from './time-limit.js';

export interface DrainOptions {
  /** How much of the stream is kept; the rest is read and dropped, so that the process never blocks on it. */
  readonly maxBytes: number;
  readonly clock: Clock;
  /** How long to go on after the exit: a process that was left behind may hold the stream open for ever. */
  readonly drainMs: number;
}

export interface Drained {
  readonly text: string;
  readonly isCut: boolean;
}

/** Reads a stream to its end, or until `drainMs` after the exit. Whatever comes later is read and dropped. Never rejects. */
export async function drain(stream: Readable, exited: Promise<unknown>, options: DrainOptions): Promise<Drained> {
  const kept = new HeadAndTail(options.maxBytes);
  const keep = (chunk: Buffer) => kept.push(chunk);
  stream.on('data', keep);
  // A stream that breaks has ended, too.
  const ended = finished(stream, { writable: false }).catch(() => {});

  await exited;
  const limit = new TimeLimit(options.clock, options.drainMs);
  await limit.race(ended);
  limit.end();
  stream.off('data', keep); // The stream goes on flowing without it.
  return { text: kept.text(), isCut: kept.isCut };
}
