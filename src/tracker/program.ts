import type { Readable, Writable } from 'node:stream';

/** A program of the operator that serves as a tracker. */
export interface TrackerProgram {
  /** Run by `bash -lc`. */
  readonly script: string;
  /** Added to the environment of hooks. */
  readonly env: { readonly [name: string]: string };
}

export interface ProgramProcess {
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
  /** How it ended, going on from "it …". Never rejects. */
  readonly exited: Promise<string>;
  /** Ends it with all processes that it started. Safe to call twice, and after its end. */
  stop(): Promise<void>;
}
