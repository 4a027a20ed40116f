import { readFileSync } from 'node:fs';
import { copyFile, lstat, mkdir, mkdtemp, open, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { BatonError } from '../src/domain/errors.js';
import { workspaceKey } from './workspace-path.js';
import { findRepositories } from './workspace-repositories.js';

/** Runs a bash script contained, with the environment of agents (never a secret in it) and these variables on top. */
export type RunScript = (
  script: string,
  variables: { readonly [name: string]: string },
) => Promise<{ readonly code: number | null; readonly stderr: string }>;

export interface SaveRequest {
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
const DAY_MS = 86_400_000;
const SAVED_FILES = ['work.bundle', 'work.patch'];

/**
 * Saves unpushed commits (as a bundle) and uncommitted changes (as a patch against HEAD) of every git repository in a workspace
 * that is about to be deleted. Throws `workspace_failed` when it cannot: then the workspace must stay.
 */
export async function saveWork(request: SaveRequest): Promise<SavedWork> {
  const { workspace, scratchDir, saveDir, nowMs } = request;
  try {
    const { repositories, isComplete } = await findRepositories(workspace.path);
    const notices = isComplete
      ? []
      : ['the workspace has too many or too deep folders: git repositories there were not looked for'];
    const scratch = await mkdtemp(join(scratchDir, 'save-'));
    try {
      for (const [index, repository] of repositories.entries()) {
        const out = join(scratch, String(index));
        await mkdir(out);
        notices.push(...(await saveRepository(repository, out, request)));
      }
      const name = `${workspace.key}@${new Date(nowMs).toISOString().replaceAll(':', '.')}`;
      const names = repositories.map((repository) => relative(workspace.path, repository));
      return { folder: await keep(scratch, names, saveDir, name), notices };
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

/** Deletes what was saved more than `keepDays` days ago. */
export async function pruneSaved(saveDir: string, keepDays: number, nowMs: number): Promise<void> {
  const entries = await readdir(saveDir).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
    return [];
  });
  for (const name of entries) {
    const savedAtMs = Date.parse(/@([^@]+)$/.exec(name)?.[1]?.replace(/T(\d+)\.(\d+)\./, 'T$1:$2:') ?? '');
    // What does not carry a time of ours (NaN) is not ours.
    if (nowMs - savedAtMs > keepDays * DAY_MS) await rm(join(saveDir, name), { recursive: true, force: true });
  }
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
    if (error.code !== 'ENOENT') throw error; // a deleted file is a change too
    return null;
  });
  return stats?.isFile() ? stats.size : 0;
}

/** Copies everything worth keeping to disk for good, then gives it its name: a saved folder is always whole. */
async function keep(scratch: string, repositories: readonly string[], saveDir: string, name: string) {
  await mkdir(saveDir, { recursive: true, mode: 0o700 });
  const partial = join(saveDir, `.partial-${name}`);
  await mkdir(partial, { mode: 0o700 });
  try {
    if ((await copyAll(scratch, repositories, partial)) === 0) return null;
    const folder = join(saveDir, name);
    await rename(partial, folder);
    await flush(saveDir);
    return folder;
  } finally {
    await rm(partial, { recursive: true, force: true });
  }
}

async function copyAll(scratch: string, repositories: readonly string[], target: string): Promise<number> {
  let copied = 0;
  for (const [index, repository] of repositories.entries()) {
    const prefix = repository === '' ? '' : `${workspaceKey(repository)}.`;
    for (const file of SAVED_FILES) {
      const from = join(scratch, String(index), file);
      if ((await sizeOf(from)) === 0) continue;
      await copyFile(from, join(target, prefix + file));
      await flush(join(target, prefix + file));
      copied += 1;
    }
  }
  return copied;
}

async function flush(path: string): Promise<void> {
  const handle = await open(path, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
