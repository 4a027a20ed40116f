import { Socket, type SocketConstructorOpts } from 'node:net';
import type { Writable } from 'node:stream';
import type { Clock } from '../../../src/domain/clock.js';
import { TimeLimit } from '../../contain/time-limit.js';

/** Only a process that escaped its end can still hold the other end of the pipe. */
const SETTLE_MS = 1_000;

/**
 * The way of an envelope into a child's stdin. A child that does not read can neither block nor break us; whether it took all
 * that it was given is asked when nothing of it is alive any more.
 */
export class EnvelopePipe {
  readonly #pipe: Writable;
  readonly #closed: Promise<void>;
  #isTaken = false;
  #isBroken = false;

  constructor(stdin: Writable) {
    this.#pipe = readableToo(stdin);
    this.#closed = new Promise((resolve) => void this.#pipe.once('close', resolve));
    // EPIPE, ECONNRESET: it closed its end, and left something unread.
    this.#pipe.on('error', () => {
      this.#isBroken = true;
    });
  }

  write(bytes: Buffer): void {
    if (!this.#isBroken) this.#pipe.write(bytes);
  }

  /** The last piece, and the end of the stream. */
  end(bytes: Buffer): void {
    if (this.#isBroken) return;
    // Not at 'finish': a child that read all of it and ended may be gone before the end of the stream could be sent.
    this.#pipe.write(bytes, (error?: Error | null) => {
      this.#isTaken = !error;
    });
    this.#pipe.end();
  }

  async wasRead(clock: Clock): Promise<boolean> {
    const limit = new TimeLimit(clock, SETTLE_MS);
    await limit.race(this.#closed);
    limit.end();
    return this.#isTaken && !this.#isBroken;
  }

  /** Lets go of what was not taken. */
  close(): void {
    this.#pipe.destroy();
  }
}

/**
 * A small envelope fits into the kernel's buffer, and writing it succeeds though nobody ever reads it. But the pipe is a UNIX
 * socket, and Linux resets the other end of one that is closed with bytes left in it: that shows to whoever reads there. Node's
 * own object for a child's stdin cannot be read, and closes with the last write; one that takes its handle over can.
 * Where there is no such handle, or no Linux, only an envelope larger than the buffer shows that it was not read.
 */
function readableToo(stdin: Writable): Writable {
  const owner = stdin as { _handle?: unknown };
  const handle = owner._handle;
  if (!(stdin instanceof Socket) || typeof handle !== 'object' || handle === null) return stdin;
  // One owner at a time: Node closes what it holds when the child ends, under whoever else holds it.
  owner._handle = null;
  const options: SocketConstructorOpts & { readonly handle: object } = { handle, allowHalfOpen: true };
  const pipe = new Socket(options);
  pipe.resume(); // A child can write there, too. Nobody asked for it.
  return pipe;
}
