import { homedir, userInfo } from 'node:os';
import { basename, isAbsolute, relative } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { toBatonError } from '../domain/errors.js';
import { shellWord } from '../domain/shell-word.js';
import { neutraliseJson, neutraliseLines } from '../text/neutralise.js';

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

export { shellWord };

/** How this person calls us, for commands that we print: what they read is what they can type. */
export function invocation(argv: readonly string[], cwd: string): string {
  const script = argv[1];
  if (script === undefined || script === '') return 'baton';
  if (/[\\/]_npx[\\/]/.test(script)) return 'npx batond';
  if (/[\\/]node_modules[\\/]\.bin[\\/]baton$/.test(script)) return 'npx baton';
  if (basename(script) === 'baton') return 'baton';
  return `node ${shellWord(shorter(script, cwd))}`;
}

/** Relative where that is below this folder. */
export function shorter(path: string, cwd: string): string {
  if (!isAbsolute(path)) return path;
  const short = relative(cwd, path);
  return short === '' || short.startsWith('..') || isAbsolute(short) ? path : short;
}

/** For scripts, and as harmless on a terminal as in a file. Line by line: the line breaks between values are ours. */
export function printJson(value: unknown, { stdout }: Pick<Io, 'stdout'>): void {
  stdout.write(`${JSON.stringify(value, null, 2).split('\n').map(neutraliseJson).join('\n')}\n`);
}

/** Says what is wrong; the exit code. */
export function printError(error: unknown, exitCode: 1 | 2, io: Io): number {
  const { code, message } = toBatonError(error);
  io.stderr.write(`baton: ${neutraliseLines(`${code}: ${message}`)}\n`);
  return exitCode;
}
