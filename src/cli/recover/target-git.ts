import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Containment } from '../../../runner/contain/process.js';
import { environmentFor } from '../../../runner/environment.js';
import { BatonError } from '../../domain/errors.js';
import type { Io } from '../io.js';
import { runShell } from '../shell.js';

export interface GitResult {
  readonly ok: boolean;
  readonly stdout: string;
  readonly stderr: string;
}

export interface GitOptions {
  /** Text for the standard input. */
  readonly input?: string;
  /** A file for the standard input, from that offset on. */
  readonly inputFile?: { readonly path: string; readonly offset: number };
  readonly env?: { readonly [name: string]: string };
}

/** Git in the repository that gets the saved work. */
export interface TargetGit {
  /** Its folder, as the user named it. */
  readonly dir: string;
  readonly isShallow: boolean;
  readonly objectFormat: string;
  /** A folder for temporary files. */
  readonly scratch: string;
  /** Runs a command that may fail. */
  attempt(args: readonly string[], options?: GitOptions): Promise<GitResult>;
  /** Returns the output of a command without the last line break. Throws `recover_failed`. */
  run(args: readonly string[], options?: GitOptions): Promise<string>;
}

const TIME_LIMIT_MS = 300_000;
const WITH_INPUT = 'set -o pipefail; tail -c "+$BATON_INPUT_FROM" -- "$BATON_INPUT" | git "$@"';

/**
 * An agent wrote the saved work, so git must run no hook and no program of a setting. The working tree is an empty folder, and commands that
 * need an index use their own, so that those of the repository stay untouched.
 */
const HARMLESS = [
  ...['-c', 'core.hooksPath=/dev/null', '-c', 'core.fsmonitor=false', '-c', 'core.bare=false'],
  ...['-c', 'gc.auto=0', '-c', 'maintenance.auto=false', '-c', 'i18n.commitEncoding=UTF-8'],
];

export async function openTargetGit(
  dir: string,
  scratch: string,
  io: Io,
  containment: Containment,
): Promise<TargetGit> {
  const { env } = environmentFor('hook', {
    base: io.env,
    policy: 'allowlist',
    allow: ['GIT_*'],
    hookAllow: [],
    secretNames: [],
    extra: { GIT_TERMINAL_PROMPT: '0', GIT_OPTIONAL_LOCKS: '0', GIT_NO_REPLACE_OBJECTS: '1', LC_ALL: 'C' },
  });
  const inputPath = join(scratch, 'input');
  const call = async (args: readonly string[], options: GitOptions = {}): Promise<GitResult> => {
    const { input, inputFile = { path: inputPath, offset: 0 }, env: more = {} } = options;
    if (input !== undefined) await writeFile(inputPath, input);
    const hasInput = input !== undefined || options.inputFile !== undefined;
    const where = { BATON_INPUT: inputFile.path, BATON_INPUT_FROM: String(inputFile.offset + 1) };
    const script = hasInput ? WITH_INPUT : 'exec git "$@"';
    const result = await runShell(
      { bash: ['-c', script, 'git', ...args], env: { ...env, ...where, ...more }, cwd: dir, timeoutMs: TIME_LIMIT_MS },
      containment,
    );
    if (result.ended === 'exited') return { ...result, ok: result.code === 0 };
    const why = result.ended === 'timeout' ? `git took longer than ${TIME_LIMIT_MS / 1000} s` : result.message;
    throw new BatonError('recover_failed', `${why} in ${dir}`);
  };
  const { gitDir, ...facts } = await findRepository(dir, call);
  const tree = join(scratch, 'tree');
  await mkdir(tree, { recursive: true });
  const fixed = [`--git-dir=${gitDir}`, `--work-tree=${tree}`, ...HARMLESS];
  const attempt: TargetGit['attempt'] = (args, options) => call([...fixed, ...args], options);
  return {
    dir,
    ...facts,
    scratch,
    attempt,
    async run(args, options) {
      const { ok, stdout, stderr } = await attempt(args, options);
      if (ok) return stdout.replace(/\n$/, '');
      throw new BatonError('recover_failed', `git ${args[0]} failed in ${dir}: ${stderr.trim().slice(-1000)}`);
    },
  };
}

async function findRepository(dir: string, call: (args: readonly string[]) => Promise<GitResult>) {
  const { ok, stdout, stderr } = await call([
    'rev-parse',
    '--is-shallow-repository',
    '--show-object-format',
    '--absolute-git-dir',
  ]);
  const [shallow, objectFormat, gitDir] = stdout.split('\n');
  if (ok && gitDir && objectFormat) return { gitDir, objectFormat, isShallow: shallow === 'true' };
  if (/git: (?:command )?not found/.test(stderr)) throw new UsageError('git is not installed, or not on the PATH');
  const isNone = stderr.includes('not a git repository');
  const why = isNone ? `${dir} is not in a git repository` : `git refuses ${dir}: ${stderr.trim().slice(-1000)}`;
  throw new UsageError(`${why}. Go to a clone of the repository, or name one with --into`);
}

/** The command was called with wrong arguments or in the wrong folder. */
export class UsageError extends Error {
  override readonly name = 'WrongCall';
}
