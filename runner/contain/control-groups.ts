import { access, constants, mkdir, readdir, readFile, rmdir, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { toBatonError } from '../../src/domain/errors.js';
import { pinExisting } from './hidden-directories.js';
import { processFacts } from './proc-table.js';
import type { HiddenDirectory } from './process.js';

/*
 * The control group (cgroup v2) of the daemon, divided among its runs:
 *
 *   <delegated>/baton-daemon           the daemon and what it starts outside of runs
 *   <delegated>/baton-run-<marker>     the limits of a run
 *   <delegated>/baton-run-<marker>/in  its processes
 *
 * The limits are one level above the processes. A program of a run that mounts the control groups in a namespace of its own sees its
 * own group as the root, and so no file with a limit.
 */

/** A control group that the daemon may divide, because nothing else runs in it and its files can be written. */
export interface DelegatedGroup {
  readonly folder: string;
  /** The same group in each mount of the control groups. */
  readonly paths: readonly string[];
  readonly controllers: readonly Controller[];
}

export type Controller = 'pids' | 'memory' | 'cpu';
const CONTROLLERS: readonly Controller[] = ['pids', 'memory', 'cpu'];

const DAEMON_GROUP = 'baton-daemon';
const RUN_PREFIX = 'baton-run-';

/** Changes nothing. Returns a text when there is no such group: why. */
export async function findDelegatedGroup(): Promise<DelegatedGroup | string> {
  if (process.platform !== 'linux') return `no control groups on ${process.platform}`;
  try {
    const group = ownGroup(await readFile('/proc/self/cgroup', 'utf8'));
    if (group === null) return 'no cgroup v2';
    const delegated = basename(group) === DAEMON_GROUP ? dirname(group) : group;
    const paths = pathsOfGroup(delegated, await readFile('/proc/self/mountinfo', 'utf8'));
    const [folder] = paths;
    if (folder === undefined) return 'its control group is not mounted';
    const available = (await readFile(join(folder, 'cgroup.controllers'), 'utf8')).trim().split(' ');
    const controllers = CONTROLLERS.filter((name) => available.includes(name));
    if (controllers.length === 0) return 'its control group has no controllers';
    const files = ['.', 'cgroup.procs', 'cgroup.subtree_control'];
    await Promise.all(files.map((name) => access(join(folder, name), constants.W_OK)));
    const strangers = (await processesIn(folder)).filter((pid) => !isOurs(pid));
    if (strangers.length > 0) return 'other programs run in its control group, as in a shell';
    return { folder, paths, controllers };
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EACCES' || code === 'EPERM') return 'its control group is not delegated to it, as in a shell';
    return `its control group cannot be used: ${toBatonError(error).message}`;
  }
}

/** From /proc/self/cgroup. Returns null without cgroup v2. */
export function ownGroup(text: string): string | null {
  return /^0::(\/.*)$/m.exec(text)?.[1] ?? null;
}

/** The folders of a group, from /proc/self/mountinfo: a mount may show a part of the tree only. */
export function pathsOfGroup(group: string, mountinfo: string): readonly string[] {
  return mountinfo.split('\n').flatMap((line) => {
    const [, root, place] = /^\d+ \d+ \S+ (\S+) (\S+) .* - cgroup2 /.exec(line)?.map(withoutEscapes) ?? [];
    if (root === undefined || place === undefined) return [];
    const isWithin = group === root || group.startsWith(root === '/' ? root : `${root}/`);
    return isWithin ? [join(place, group.slice(root === '/' ? 0 : root.length))] : [];
  });
}

function withoutEscapes(text: string): string {
  return text.replace(/\\([0-7]{3})/g, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 8)));
}

async function processesIn(folder: string): Promise<readonly number[]> {
  const text = await readFile(join(folder, 'cgroup.procs'), 'utf8');
  return text.match(/\d+/g)?.map(Number) ?? [];
}

/** This process and what it started. A process that has ended meanwhile does not matter. */
function isOurs(pid: number): boolean {
  for (let each = pid; each !== process.pid; ) {
    const facts = processFacts(each);
    if (facts === null) return true;
    if (each === 1 || facts.parentId === 0) return false;
    each = facts.parentId;
  }
  return true;
}

/** What a group of a run may use. Null: no limit. */
export interface GroupLimits {
  readonly processes: number | null;
  readonly memoryMb: number | null;
  readonly cpuWeight: number;
}

/** What has happened in the group of a run. */
export interface GroupEvents {
  /** Processes that the kernel ended because the group had no memory left. */
  readonly killed: number;
  /** Processes that were not started because there were too many. */
  readonly refused: number;
  readonly hadProcesses: boolean;
}

export class ControlGroups {
  private constructor(
    readonly folder: string,
    readonly controllers: readonly Controller[],
    /** To be hidden from runs: who can write these files can leave a group. */
    readonly hide: readonly HiddenDirectory[],
  ) {}

  /** Moves the daemon into a group of its own, and removes the groups that a killed daemon has left. Throws when it cannot be done. */
  static async takeOver({ folder, paths, controllers }: DelegatedGroup): Promise<ControlGroups> {
    await makeGroup(join(folder, DAEMON_GROUP));
    // A group with controllers for its children must not contain processes itself.
    for (const pid of await processesIn(folder))
      await write(join(folder, DAEMON_GROUP, 'cgroup.procs'), pid).catch(ignoreEnded);
    const enabled: Controller[] = [];
    let failure: unknown = null;
    for (const name of controllers) {
      await write(join(folder, 'cgroup.subtree_control'), `+${name}`).then(
        () => enabled.push(name),
        (error) => {
          failure = error;
        },
      );
    }
    if (failure !== null && enabled.length === 0) throw failure;
    for (const name of await readdir(folder)) if (name.startsWith(RUN_PREFIX)) await removeGroup(join(folder, name));
    return new ControlGroups(folder, enabled, await pinExisting(paths));
  }

  /** Makes the group of a run. Returns the file that a process joins it by. */
  async create(marker: string, { processes, memoryMb, cpuWeight }: GroupLimits): Promise<string> {
    const group = this.#groupOf(marker);
    await makeGroup(group);
    const has = (name: Controller) => this.controllers.includes(name);
    if (has('pids') && processes !== null) await write(join(group, 'pids.max'), processes);
    if (has('memory') && memoryMb !== null) await write(join(group, 'memory.max'), memoryMb * 1024 * 1024);
    if (has('cpu')) await write(join(group, 'cpu.weight'), cpuWeight);
    await makeGroup(join(group, 'in'));
    return join(group, 'in', 'cgroup.procs');
  }

  /** Ends what is left in the group of a run, and removes it. Throws when processes outlive that. */
  async remove(marker: string): Promise<GroupEvents> {
    const group = this.#groupOf(marker);
    const [memory, pids, cpu] = await Promise.all(
      ['memory.events', 'pids.events', 'cpu.stat'].map((name) => readFile(join(group, name), 'utf8').catch(() => '')),
    );
    await removeGroup(group);
    return {
      killed: countOf('oom_kill', memory),
      refused: countOf('max', pids),
      hadProcesses: countOf('usage_usec', cpu) > 0,
    };
  }

  #groupOf(marker: string): string {
    return join(this.folder, `${RUN_PREFIX}${marker}`);
  }
}

/** A line of a file such as memory.events. */
function countOf(name: string, text = ''): number {
  return Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(text)?.[1] ?? 0);
}

async function makeGroup(folder: string): Promise<void> {
  await mkdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error;
  });
}

/** The kernel makes the files. */
async function write(file: string, value: number | string): Promise<void> {
  await writeFile(file, `${value}`, { flag: 'r+' });
}

function ignoreEnded(error: NodeJS.ErrnoException): void {
  if (error.code !== 'ESRCH') throw error;
}

const REMOVE_TRIES = 50;
const REMOVE_PAUSE_MS = 20;

/** A group can be removed once the kernel has freed its last process. */
async function removeGroup(folder: string): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    // Kernels before 5.14 have no such file. There the search by marker has ended the processes.
    await write(join(folder, 'cgroup.kill'), 1).catch(() => {});
    try {
      return await removeTree(folder);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === 'ENOENT') return;
      if (code !== 'EBUSY' || tries === REMOVE_TRIES) throw error;
      await pause(REMOVE_PAUSE_MS);
    }
  }
}

async function removeTree(folder: string): Promise<void> {
  for (const entry of await readdir(folder, { withFileTypes: true }))
    if (entry.isDirectory()) await removeTree(join(folder, entry.name));
  await rmdir(folder);
}
