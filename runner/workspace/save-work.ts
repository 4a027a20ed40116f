import { readFileSync } from 'node:fs';
import { copyFile, lstat, mkdir, mkdtemp, open, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import { z } from 'zod';
import { DAY_MS } from '../../src/domain/clock.js';
import { BatonError } from '../../src/domain/errors.js';
import type { Issue } from '../../src/domain/issue.js';
import { neutraliseJson } from '../../src/text/neutralise.js';
import { workspaceKey } from './workspace-root.js';

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

interface SaveLimits {
  /** A new file over this size is left out, with a notice: it is a build product far more often than work. */
  readonly maxNewFileBytes: number;
  /** More changed bytes than this are not saved, and the workspace stays. */
  readonly maxTotalBytes: number;
}

interface SavedWork {
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

const MAX_DEPTH = 12;
const MAX_FOLDERS = 20_000;
const SKIPPED = new Set(['.git', 'node_modules']);

interface FoundRepositories {
  readonly repositories: readonly string[];
  /** False when there were too many folders, or too deep ones, to look into all of them. */
  readonly isComplete: boolean;
}

/** Git repositories in a workspace: itself, and clones and submodules not too deep inside. Symlinks are not followed. */
export async function findRepositories(workspace: string): Promise<FoundRepositories> {
  const repositories: string[] = [];
  // Names are bytes: one that is no text would otherwise keep its workspace from ever being removed.
  let level: Buffer[] = [Buffer.from(workspace)];
  let looked = 0;
  for (let depth = 0; depth <= MAX_DEPTH; depth += 1) {
    const next: Buffer[] = [];
    for (const folder of level) {
      looked += 1;
      if (looked > MAX_FOLDERS) return { repositories, isComplete: false };
      if (await isRepository(folder)) repositories.push(asText(folder));
      next.push(...(await subfolders(folder)));
    }
    level = next;
  }
  return { repositories, isComplete: level.length === 0 };
}

async function subfolders(folder: Buffer): Promise<Buffer[]> {
  const entries = await readdir(folder, { withFileTypes: true, encoding: 'buffer' });
  return entries
    .filter((entry) => entry.isDirectory() && !SKIPPED.has(entry.name.toString()))
    .map(({ name }) => below(folder, name));
}

/** `.git` is a folder with a HEAD, or a file that points to one. A folder without is a clone that never began. */
async function isRepository(folder: Buffer): Promise<boolean> {
  const git = below(folder, '.git');
  const stats = await lstat(git).catch(nullIfMissing);
  if (stats?.isDirectory()) return (await lstat(below(git, 'HEAD')).catch(nullIfMissing)) !== null;
  return stats !== null;
}

function below(folder: Buffer, name: Buffer | string): Buffer {
  return Buffer.concat([folder, Buffer.from(sep), Buffer.from(name)]);
}

/** Scripts are told of a repository in a variable, which holds text. */
function asText(path: Buffer): string {
  const text = path.toString();
  if (Buffer.from(text).equals(path)) return text;
  throw new Error(`the name of the repository ${JSON.stringify(text)} is not valid UTF-8: rename its folder`);
}

/** A folder that cannot be looked into may hide work: that is an error, not "nothing there". */
function nullIfMissing(error: NodeJS.ErrnoException): null {
  if (error.code === 'ENOENT') return null;
  throw error;
}

/** What the script wrote about one repository. */
interface RepositoryFiles extends Pick<SavedRepository, 'path' | 'prefix' | 'head' | 'branch'> {
  /** Holds the files, if any were worth writing. */
  readonly folder: string;
}

/**
 * Copies everything worth keeping to disk for good, with a record of what it is, then gives it its name: a saved folder is
 * always whole. The folder, or `null` when there was nothing.
 */
async function keepSaved(
  found: readonly RepositoryFiles[],
  about: Omit<SavedRecord, 'repositories'>,
  saveDir: string,
  name: string,
): Promise<string | null> {
  await mkdir(saveDir, { recursive: true, mode: 0o700 });
  const partial = join(saveDir, PARTIAL_PREFIX + name);
  await mkdir(partial, { mode: 0o700 });
  try {
    const repositories: SavedRepository[] = [];
    for (const { folder, ...facts } of found) {
      const bundle = await copy(join(folder, BUNDLE_FILE), join(partial, facts.prefix + BUNDLE_FILE));
      const patch = await copy(join(folder, PATCH_FILE), join(partial, facts.prefix + PATCH_FILE));
      if (bundle || patch) repositories.push({ ...facts, bundle, patch });
    }
    if (repositories.length === 0) return null;
    const record: SavedRecord = { ...about, repositories };
    await writeFile(join(partial, RECORD_FILE), `${neutraliseJson(JSON.stringify(record))}\n`, { flush: true });
    await flush(partial);
    const folder = join(saveDir, name);
    await rename(partial, folder);
    await flush(saveDir);
    return folder;
  } finally {
    await rm(partial, { recursive: true, force: true });
  }
}

/** Deletes what was saved more than `keepDays` days ago. */
export async function pruneSaved(saveDir: string, keepDays: number, nowMs: number): Promise<void> {
  for (const name of await namesIn(saveDir)) {
    const isOld = nowMs - (parseSavedName(name)?.savedAtMs ?? Number.NaN) > keepDays * DAY_MS;
    if (isOld) await rm(join(saveDir, name), { recursive: true, force: true });
  }
}

/** Deletes what a killed daemon left half copied. Its workspace was kept, and is saved again. Only while nobody saves. */
export async function removePartials(saveDir: string): Promise<void> {
  for (const name of await namesIn(saveDir)) {
    const isPartial = name.startsWith(PARTIAL_PREFIX) && parseSavedName(name) !== null;
    if (isPartial) await rm(join(saveDir, name), { recursive: true, force: true });
  }
}

function namesIn(saveDir: string): Promise<string[]> {
  return readdir(saveDir).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
    return [];
  });
}

/** False when there is nothing to copy. */
async function copy(from: string, to: string): Promise<boolean> {
  const stats = await lstat(from).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
    return null;
  });
  if (!stats?.isFile() || stats.size === 0) return false;
  await copyFile(from, to);
  await flush(to);
  return true;
}

async function flush(path: string): Promise<void> {
  const handle = await open(path, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** `saved.json`: what a folder of saved work is. Written last, before the folder gets its name. */
export const savedRecord = z.object({
  version: z.literal(1),
  issue: z.object({ id: z.string(), identifier: z.string(), title: z.string() }),
  workspace_key: z.string(),
  saved_at: z.iso.datetime(),
  repositories: z.array(
    z.object({
      /** In the workspace; empty for the workspace itself. */
      path: z.string(),
      /** What the names of its files begin with. */
      prefix: z.string().regex(/^[A-Za-z0-9._-]*$/),
      /** The commit it stood on; `null` before the first one. */
      head: z
        .string()
        .regex(/^[0-9a-f]{40,64}$/)
        .nullable(),
      /** The branch it was on; `null` where HEAD was detached. */
      branch: z.string().nullable(),
      bundle: z.boolean(),
      patch: z.boolean(),
    }),
  ),
  /** What a person should know about what was not saved. */
  left_out: z.array(z.string()),
});

export type SavedRecord = z.infer<typeof savedRecord>;
export type SavedRepository = SavedRecord['repositories'][number];

export const RECORD_FILE = 'saved.json';
export const BUNDLE_FILE = 'work.bundle';
export const PATCH_FILE = 'work.patch';
/** A folder that is still being filled, or whose daemon was killed meanwhile. */
export const PARTIAL_PREFIX = '.partial-';

function savedName(workspaceKey: string, savedAtMs: number): string {
  return `${workspaceKey}@${new Date(savedAtMs).toISOString().replaceAll(':', '.')}`;
}

/** Key and time of a name; `null` when it does not carry a time of ours, and so is not ours. */
export function parseSavedName(name: string): { readonly key: string; readonly savedAtMs: number } | null {
  const [, key, time] = /^(.+)@([^@]+)$/.exec(name) ?? [];
  const savedAtMs = Date.parse(time?.replace(/T(\d+)\.(\d+)\./, 'T$1:$2:') ?? '');
  return key === undefined || Number.isNaN(savedAtMs) ? null : { key, savedAtMs };
}
