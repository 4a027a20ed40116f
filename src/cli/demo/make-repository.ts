import { runChild } from '../../demo/run-child.js';

/**
 * A bare git repository with one commit on `main`, made from its parts: no identity, no hooks and no settings of the user have a say in
 * it. Throws an `Error` whose message says what git said.
 */
export async function makeRepository(path: string, readme: string, options: RepositoryOptions): Promise<void> {
  const git = gitIn(path, options);
  await git(['init', '--quiet', '--bare', '--template=', path]);
  await git(['symbolic-ref', 'HEAD', 'refs/heads/main']);
  const blob = await git(['hash-object', '-w', '--stdin'], readme);
  const tree = await git(['mktree'], `100644 blob ${blob}\tREADME.md\n`);
  const commit = await git(['commit-tree', tree, '-m', 'Begin']);
  await git(['update-ref', 'refs/heads/main', commit]);
}

export interface RepositoryOptions {
  /** The folder of the repository. */
  readonly dir: string;
  readonly env: NodeJS.ProcessEnv;
}

function gitIn(path: string, { dir, env }: RepositoryOptions) {
  const identity = { NAME: 'Baton demo', EMAIL: 'baton@localhost' };
  const clean = {
    PATH: env.PATH,
    LC_ALL: 'C',
    GIT_DIR: path,
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_AUTHOR_NAME: identity.NAME,
    GIT_AUTHOR_EMAIL: identity.EMAIL,
    GIT_COMMITTER_NAME: identity.NAME,
    GIT_COMMITTER_EMAIL: identity.EMAIL,
  };
  return async (args: readonly string[], input?: string): Promise<string> => {
    const options = { cwd: dir, env: clean, ...(input === undefined ? {} : { input }) };
    const { exitCode, stdout, output } = await runChild('git', args, options).catch((cause: Error) => {
      throw new Error(`git cannot be started, and the demo needs it: install git. (${cause.message})`, { cause });
    });
    if (exitCode !== 0) throw new Error(`git ${args[0]} failed in ${path}: ${output.trim().slice(0, 500)}`);
    return stdout.trim();
  };
}
