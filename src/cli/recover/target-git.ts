import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { type GitCall, type GitResult, runGit, userEnvironment } from '../../../runner/git/git.js';
import { BatonError } from '../../domain/errors.js';
import type { Io } from '../io.js';

/** Input and output are text here. */
type GitOptions = Pick<GitCall, 'input' | 'inputFile' | 'env'>;

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

export async function openTargetGit(dir: string, scratch: string, io: Io): Promise<TargetGit> {
  const call = async (args: readonly string[], { input, env, ...options }: GitOptions = {}): Promise<GitResult> => {
    const bytes = input === undefined ? {} : { input: Buffer.from(input).toString('latin1') };
    const result = await runGit({ args, cwd: dir, env: { ...userEnvironment(io.env), ...env }, ...bytes, ...options });
    return { ...result, stdout: Buffer.from(result.stdout, 'latin1').toString() };
  };
  const { gitDir, ...facts } = await findRepository(dir, call);
  const tree = join(scratch, 'tree');
  await mkdir(tree, { recursive: true });
  // The working tree is an empty folder, and commands that need an index use their own, so that those of the repository stay untouched.
  const fixed = [`--git-dir=${gitDir}`, `--work-tree=${tree}`, '-c', 'core.bare=false'];
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
  const isNone = stderr.includes('not a git repository');
  const why = isNone ? `${dir} is not in a git repository` : `git refuses ${dir}: ${stderr.trim().slice(-1000)}`;
  throw new UsageError(`${why}. Go to a clone of the repository, or name one with --into`);
}

/** The command was called with wrong arguments or in the wrong folder. */
export class UsageError extends Error {
  override readonly name = 'WrongCall';
}
