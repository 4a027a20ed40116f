import { execFile } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { hookVariables } from '../../hooks/hook-variables.js';
import type { Issue } from '../../src/domain/issue.js';
import { tempFolder } from '../runner/workspace/temp-folder.js';
import { issue } from '../support/builders.js';
import { DIST } from '../support/dist.js';

const run = promisify(execFile);
/** The built scripts, because their program is bundled. */
const SCRIPTS = join(DIST, 'hooks/scripts');

export type Variables = { readonly [name: string]: string };

/** A bare remote with one commit on `main`, and functions that run the shipped scripts against it. */
export async function gitSetup(format: 'sha1' | 'sha256' = 'sha1') {
  const base = await tempFolder();
  const remote = join(base, 'remote with spaces.git');
  const env: Variables = {
    PATH: process.env.PATH ?? '',
    HOME: base,
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_CONFIG_NOSYSTEM: '1',
  };
  const git = async (cwd: string, ...args: string[]) => {
    const identity = ['-c', 'user.name=Test', '-c', 'user.email=test@example.org'];
    return (await run('git', [...identity, ...args], { cwd, env })).stdout.trim();
  };
  const commit = async (cwd: string, file: string, text: string) => {
    await writeFile(join(cwd, file), text);
    await git(cwd, 'add', '--all');
    await git(cwd, 'commit', '--quiet', '-m', `change ${file}`);
  };
  const seed = join(base, 'seed');
  await git(base, 'init', '--quiet', '--template=', '--initial-branch=main', `--object-format=${format}`, seed);
  await commit(seed, 'README', 'hello\n');
  await git(base, 'clone', '--quiet', '--template=', '--bare', seed, remote);

  const workspace = async (name: string) => {
    const path = join(base, 'ws', name);
    await mkdir(path, { recursive: true });
    return path;
  };
  const script = async (name: string, cwd: string, overrides: Partial<Issue> = {}, extra: Variables = {}) => {
    const given = issue({ identifier: 'AB-1', title: 'Fix it', ...overrides });
    const context = {
      hook: 'after_run' as const,
      workspace: cwd,
      workflowDir: base,
      issueFile: '',
      deliveryFile: '',
      runId: 'r',
      attempt: null,
      runOutcome: null,
    };
    const variables = {
      ...{ ...env, ...hookVariables({ ...context, issue: given }), BATON_HOOKS: SCRIPTS, BATON_REPO_URL: remote },
      ...extra,
    };
    const { stdout } = await run('bash', ['-c', `bash "$BATON_HOOKS/${name}.sh"`], { cwd, env: variables });
    return stdout;
  };
  const branches = async () =>
    (await git(remote, 'for-each-ref', '--format=%(refname:short)', 'refs/heads')).split('\n');
  return { base, remote, seed, git, commit, workspace, script, branches };
}

/** Names and titles that a hostile tracker could send. */
export const HOSTILE_TEXTS = [
  '$(touch pwned)',
  '`touch pwned`',
  '--upload-pack=touch pwned',
  '-x; touch pwned',
  'two words',
  'two\nlines\n',
  '../../escape',
  'refs/heads/main',
  'main',
  'HEAD',
  '@{-1}',
  'a..b',
  'x.lock',
  '.hidden/.x/',
  '😀',
  'x'.repeat(300),
  'A B',
  'A-B',
  'A\nB',
  '/',
];
