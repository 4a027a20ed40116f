import { createHash, randomBytes } from 'node:crypto';
import { mkdir, readdir, readlink, rename, stat, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { defaultConfigDir, stateBase } from '../state-dir.js';
import { listHolders } from '../store/instance-lock.js';

export interface HiddenFolders {
  /** Hidden from every process. They exist. */
  readonly hide: readonly string[];
  /** The state directories of other daemons and what else has appeared since the start. Asked before every spawn; some may be missing. */
  hideMore(): Promise<readonly string[]>;
}

interface HiddenFoldersOptions {
  readonly stateDir: string;
  readonly lockDir: string;
  readonly env: NodeJS.ProcessEnv;
  readonly homeDir: string;
}

/**
 * The folders that no run may see: the state of all daemons of this user, and the variables of services. State directories elsewhere
 * (`--state-dir`) are listed beside the locks, so that they stay hidden after their daemon has ended.
 */
export async function openHiddenFolders(options: HiddenFoldersOptions): Promise<HiddenFolders> {
  const { stateDir, lockDir, env, homeDir } = options;
  const bases = [stateBase(env, homeDir), defaultConfigDir(env, homeDir)];
  const made = await Promise.all(bases.map(makeIfPossible));
  // A daemon without this one's XDG_STATE_HOME keeps its state here.
  const usualBase = stateBase({}, homeDir);
  await addToList(stateDir, lockDir);
  return {
    hide: [stateDir, lockDir, ...made.filter((path) => path !== null)],
    async hideMore() {
      const [listed, holders] = await Promise.all([readList(lockDir), listHolders(lockDir)]);
      return [...bases, usualBase, ...listed, ...holders.flatMap((holder) => holder.stateDir ?? [])];
    },
  };
}

/** Made now, because a folder that appears during a run cannot be hidden from it. Returns null when there is no such folder. */
async function makeIfPossible(path: string): Promise<string | null> {
  await mkdir(path, { recursive: true, mode: 0o700 }).catch(() => {});
  const isFolder = await stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
  return isFolder ? path : null;
}

const LIST_SUFFIX = '.state-dir';

/** A symlink per directory: it is made and replaced at once, so that no reader sees half of an entry. */
async function addToList(stateDir: string, lockDir: string): Promise<void> {
  const name = createHash('sha256').update(stateDir).digest('hex').slice(0, 32);
  const draft = join(lockDir, `${name}.${process.pid}-${randomBytes(4).toString('hex')}`);
  await symlink(stateDir, draft);
  await rename(draft, join(lockDir, `${name}${LIST_SUFFIX}`));
}

async function readList(lockDir: string): Promise<readonly string[]> {
  const names = await readdir(lockDir);
  return Promise.all(names.filter((name) => name.endsWith(LIST_SUFFIX)).map((name) => readlink(join(lockDir, name))));
}
