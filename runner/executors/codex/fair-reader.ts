import type { Readable } from 'node:stream';

/**
 * Reads many streams without letting one of them own the event loop: a stream gives one chunk, is paused, and waits its turn
 * until a shared scheduler resumes a few streams per loop iteration. Timers, the API and quiet agents get in between.
 */
const STREAMS_PER_ITERATION = 4;

export class FairScheduler {
  #waiting: (() => void)[] = [];
  #scheduled = false;

  add(task: () => void): void {
    this.#waiting.push(task);
    this.#schedule();
  }

  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      for (const task of this.#waiting.splice(0, STREAMS_PER_ITERATION)) task();
      if (this.#waiting.length > 0) this.#schedule();
    });
  }
}

export interface ChunkListener {
  /** The next chunk is read only after this has settled: back pressure. */
  onChunk(chunk: Buffer): Promise<void> | undefined;
  /** Called once: the stream ended, failed or was destroyed. */
  onEnd(): void;
}

export function readFairly(stream: Readable, scheduler: FairScheduler, listener: ChunkListener): void {
  let ended = false;
  const end = () => {
    if (ended) return;
    ended = true;
    listener.onEnd();
  };
  const resume = () => scheduler.add(() => stream.resume());

  stream.on('data', (chunk: Buffer) => {
    stream.pause();
    const taken = listener.onChunk(chunk);
    if (taken) void taken.then(resume);
    else resume();
  });
  stream.on('end', end);
  stream.on('close', end);
  stream.on('error', end);
}
