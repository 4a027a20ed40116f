import type { Readable, Writable } from 'node:stream';

export interface TrackerProgram {
  /** Given to `bash -lc`. */
  readonly script: string;
  /** On top of the environment that hooks get. */
  readonly env: { readonly [name: string]: string };
}

export interface ProgramProcess {
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
  /** A sentence on how it ended, going on from "it …". Never rejects. */
  readonly exited: Promise<string>;
  /** Ends it with all that it started. Safe to call twice, and after its end. */
  stop(): Promise<void>;
}
