import { readFileSync } from 'node:fs';
import { lstat, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { BatonError } from '../../src/domain/errors.js';
import type { Issue } from '../../src/domain/issue.js';
import { keepSaved, type RepositoryFiles } from '../keep-saved.js';
import { savedName } from '../saved-record.js';
import { workspaceKey } from '../workspace-path.js';
import { findRepositories } from '../workspace-repositories.js';

/** Runs a bash script contained, with the environment of agents (never a secret in it) and these variables on top. */
export type RunScript = (
  script: string,
  variables: { readonly [name: string]: string },
) => Promise<{ readonly code: number | null; readonly stderr: string }>;

export interface SaveRequest {
  readonly issue: Pick<Issue, 'id' | 'identifier' | 'title'>;
  readonly workspace: { readonly key: string; readonly path: string };
  /** Where the contained script can write: the run's temporary folder. The state directory is hidden from it. */
  readonly scratchDir: string;
  /** Where saved work is kept, in the state directory. */
  readonly saveDir: string;
  readonly nowMs: number;
  readonly run: RunScript;
  readonly limits?: SaveLimits;
}

export interface SaveLimits {
  /** A new file over this size is left out, with a notice: it is a build product far more often than work. */
  readonly maxNewFileBytes: number;
  /** More changed bytes than this are not saved, and the workspace stays. */
  readonly maxTotalBytes: number;
}

export interface SavedWork {
  /** The folder with what was saved; `null` when there was nothing to save. */
  readonly folder: string | null;
  /** What a person should know about what was left out. */
  readonly notices: readonly string[];
}

const LIMITS: SaveLimits = { maxNewFileBytes: 20_000_000, maxTotalBytes: 500_000_000 };
const SCRIPT = readFileSync(new URL('workspace-save.sh', import.meta.url), 'utf8');

/**
 * Saves unpushed commits (as a bundle) and uncommitted changes (as a patch against HEAD) of every git repository in a workspace
 * that is about to be deleted. Throws `workspace_failed` when it cannot: then the workspace must stay.
 */
export async function saveWork(request: SaveRequest): Promise<SavedWork> {
  const { issue, workspace, scratchDir, saveDir, nowMs } = request;
  try {
    const { repositories, isComplete } = await findRepositories(workspace.path);
    const notices = isComplete
      ? []
      : ['the workspace has too many or too deep folders: git repositories there were not looked for'];
    const scratch = await mkdtemp(join(scratchDir, 'save-'));
    try {
      const found: RepositoryFiles[] = [];
      for (const [index, repository] of repositories.entries()) {
        const folder = join(scratch, String(index));
        await mkdir(folder);
        notices.push(...(await saveRepository(repository, folder, request)));
        found.push({ ...factsOf(relative(workspace.path, repository)), ...(await whereItStood(folder)), folder });
      }
      const { id, identifier, title } = issue;
      const about = {
        version: 1,
        issue: { id, identifier, title },
        workspace_key: workspace.key,
        saved_at: new Date(nowMs).toISOString(),
        left_out: notices,
      } as const;
      return { folder: await keepSaved(found, about, saveDir, savedName(workspace.key, nowMs)), notices };
    } finally {
      await rm(scratch, { recursive: true, force: true });
    }
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new BatonError(
      'workspace_failed',
      `the work in ${workspace.path} could not be saved, so the workspace is kept: ${reason}`,
      {},
      { cause: error },
    );
  }
}

function factsOf(path: string): Pick<RepositoryFiles, 'path' | 'prefix'> {
  return { path, prefix: path === '' ? '' : `${workspaceKey(path)}.` };
}

async function whereItStood(folder: string): Promise<Pick<RepositoryFiles, 'head' | 'branch'>> {
  const [head, branch] = (await readFile(join(folder, 'standing'), 'utf8')).split('\n');
  return { head: head || null, branch: branch?.replace(/^refs\/heads\//, '') || null };
}

async function saveRepository(repository: string, out: string, request: SaveRequest): Promise<string[]> {
  const limits = request.limits ?? LIMITS;
  const stage = async (name: 'list' | 'save') => {
    const { code, stderr } = await request.run(SCRIPT, {
      BATON_SAVE_STAGE: name,
      BATON_SAVE_REPOSITORY: repository,
      BATON_SAVE_OUT: out,
      BATON_SAVE_MAX_KB: String(Math.ceil(limits.maxTotalBytes / 1024)),
    });
    if (code !== 0) throw new Error(`git failed in ${repository}: ${stderr.trimEnd().slice(-1000)}`);
  };
  await stage('list');
  const files = async (list: string) =>
    (await readFile(join(out, list), 'utf8')).split('\0').filter((path) => path !== '');
  const sizes = new Map<string, number>();
  for (const path of await files('new')) sizes.set(path, await sizeOf(join(repository, path)));
  const tooLarge = [...sizes].filter(([, size]) => size > limits.maxNewFileBytes).map(([path]) => path);
  for (const path of tooLarge) sizes.delete(path);
  for (const path of await files('modified')) sizes.set(path, await sizeOf(join(repository, path)));
  const totalBytes = [...sizes.values()].reduce((sum, size) => sum + size, 0);
  if (totalBytes > limits.maxTotalBytes) {
    throw new Error(`${totalBytes} bytes of changes in ${repository} are over the limit of ${limits.maxTotalBytes}`);
  }
  // A name with a slash at its end is a repository inside the repository: it is saved on its own.
  const leaveOut = [...tooLarge, ...[...sizes.keys()].filter((path) => path.endsWith('/'))];
  await writeFile(join(out, 'leave-out'), leaveOut.map((path) => `:(top,exclude,literal)${path}\0`).join(''));
  await stage('save');
  return tooLarge.map((path) => `${join(repository, path)} is over ${limits.maxNewFileBytes} bytes and was not saved`);
}

async function sizeOf(path: string): Promise<number> {
  const stats = await lstat(path).catch((error: NodeJS.ErrnoException) => {
    // A deleted file is a change too, also when another one is now where its folder was.
    if (error.code !== 'ENOENT' && error.code !== 'ENOTDIR') throw error;
    return null;
  });
  return stats?.isFile() ? stats.size : 0;
}
