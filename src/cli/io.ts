import { homedir, userInfo } from 'node:os';
import { basename, isAbsolute, relative } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { toBatonError } from '../domain/errors.js';
import { shellWord } from '../domain/shell-word.js';
import { neutraliseJson, neutraliseLines } from '../text/neutralise.js';

/** The environment of a command, apart from files. Tests pass their own. */
export interface Io {
  /** `columns`: the width of the terminal, if it is one. */
  readonly stdout: Writable & { readonly columns?: number };
  readonly stderr: Writable;
  readonly stdin: Readable;
  /** Input and output are a terminal, so that a person can be asked. */
  readonly isTTY: boolean;
  readonly env: NodeJS.ProcessEnv;
  readonly cwd: string;
  readonly homeDir: string;
  /** Of this command. A daemon of the same version sends what this command expects, so its answers are not checked. */
  readonly version?: string;
}

export function processIo(version: string): Io {
  const { stdout, stderr, stdin } = process;
  return {
    stdout,
    stderr,
    stdin,
    version,
    isTTY: stdin.isTTY === true && stdout.isTTY === true,
    env: { ...process.env },
    cwd: process.cwd(),
    // With an empty or relative HOME our folders would be created in the current folder.
    homeDir: isAbsolute(homedir()) ? homedir() : userInfo().homedir,
  };
}

/** How the user called Baton, so that printed commands can be typed as they are. */
export function invocation(argv: readonly string[], cwd: string): string {
  const script = argv[1];
  if (script === undefined || script === '') return 'baton';
  if (/[\\/]_npx[\\/]/.test(script)) return 'npx batond';
  if (/[\\/]node_modules[\\/]\.bin[\\/]baton$/.test(script)) return 'npx baton';
  if (basename(script) === 'baton') return 'baton';
  return `node ${shellWord(shorter(script, cwd))}`;
}

/** Relative to `cwd` when the path lies below it. */
export function shorter(path: string, cwd: string): string {
  if (!isAbsolute(path)) return path;
  const short = relative(cwd, path);
  return short === '' || short.startsWith('..') || isAbsolute(short) ? path : short;
}

/** Prints JSON that is harmless on a terminal: no control character is left outside of an escape. */
export function printJson(value: unknown, { stdout }: Pick<Io, 'stdout'>): void {
  stdout.write(`${JSON.stringify(value, null, 2).split('\n').map(neutraliseJson).join('\n')}\n`);
}

/** Prints a problem on the error output; returns the exit code. */
export function printProblem<Code extends number>(text: string, exitCode: Code, { stderr }: Pick<Io, 'stderr'>): Code {
  stderr.write(`baton: ${neutraliseLines(text)}\n`);
  return exitCode;
}

/** Prints the code and the message of an error; returns the exit code. */
export function printError(error: unknown, exitCode: 1 | 2, io: Pick<Io, 'stderr'>): 1 | 2 {
  const { code, message } = toBatonError(error);
  return printProblem(`${code}: ${message}`, exitCode, io);
}
