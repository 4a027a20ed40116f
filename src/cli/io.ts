import { homedir, userInfo } from 'node:os';
import { isAbsolute } from 'node:path';
import type { Readable, Writable } from 'node:stream';

/** The world of a command, as far as it is not the files: tests give it another one. */
export interface Io {
  /** With the width of the terminal, where it is one. */
  readonly stdout: Writable & { readonly columns?: number };
  readonly stderr: Writable;
  readonly stdin: Readable;
  /** A person sits there, who reads and can be asked. */
  readonly isTTY: boolean;
  readonly env: NodeJS.ProcessEnv;
  readonly cwd: string;
  readonly homeDir: string;
}

export function processIo(): Io {
  const { stdout, stderr, stdin } = process;
  return {
    stdout,
    stderr,
    stdin,
    isTTY: stdin.isTTY === true && stdout.isTTY === true,
    env: { ...process.env },
    cwd: process.cwd(),
    // An empty or relative HOME would put our folders into whichever folder we were started in.
    homeDir: isAbsolute(homedir()) ? homedir() : userInfo().homedir,
  };
}
