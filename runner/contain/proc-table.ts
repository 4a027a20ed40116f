import { closeSync, existsSync, openSync, readdirSync, readFileSync, readSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { uptime } from 'node:os';
import { setImmediate as yieldToOthers } from 'node:timers/promises';

/** A process. The start time (clock ticks since boot) distinguishes it from a later one with the same pid. */
export interface ProcessIdentity {
  readonly pid: number;
  readonly startTime: string;
}

export interface ProcessFacts extends ProcessIdentity {
  readonly parentId: number;
  readonly groupId: number;
  /** False for a zombie, which has ended but was not reaped by its parent. */
  readonly isAlive: boolean;
}

/** Every visible process, except the known ones. Returns nothing outside of Linux. */
export async function listProcesses(known: readonly ProcessFacts[] = []): Promise<readonly ProcessFacts[]> {
  return forEachPid(processFacts, known);
}

/**
 * Collects the results of `inspect` for each process. Repeats until no new processes appear: later rounds have few to read, so they catch
 * up with a process that forks and ends faster than all of /proc can be read.
 */
export async function forEachPid<T>(
  inspect: (pid: number) => T | null | Promise<T | null>,
  known: readonly ProcessIdentity[] = [],
): Promise<readonly T[]> {
  const seen = new Set(known.map(({ pid }) => pid));
  const found: T[] = [];
  for (let round = 0; round < MAX_ROUNDS; round += 1) {
    const fresh = (await listPids()).filter((pid) => !seen.has(pid));
    if (fresh.length === 0) break;
    // In batches, so that many processes do not use up our file descriptors.
    for (let start = 0; start < fresh.length; start += BATCH_SIZE) {
      if (start > 0) await yieldToOthers();
      const batch = await Promise.all(fresh.slice(start, start + BATCH_SIZE).map(inspect));
      found.push(...batch.filter((each) => each !== null));
    }
    for (const pid of fresh) seen.add(pid);
  }
  return found;
}

const BATCH_SIZE = 100;
const MAX_ROUNDS = 20;

/**
 * Reads synchronously, which takes a tenth of the time of an asynchronous read; each end of a process reads them all. Unlike the
 * environment, this file can be read while the process hangs in the kernel.
 */
export function processFacts(pid: number): ProcessFacts | null {
  return ifThere(() => parseStat(pid, readLine(`/proc/${pid}/stat`)));
}

/** False in kernels without this file, such as that of gVisor. */
export const KNOWS_CHILDREN = existsSync('/proc/thread-self/children');

/** The pids of the children, those of each thread from the oldest on. Synchronous, for the same reason as `processFacts`. */
export function childrenOf(pid: number): readonly number[] {
  const threads = ifThere(() => readdirSync(`/proc/${pid}/task`)) ?? [];
  const lists = threads.map((thread) => ifThere(() => readFileSync(`/proc/${pid}/task/${thread}/children`, 'latin1')));
  return lists.flatMap((list) => list?.match(/\d+/g)?.map(Number) ?? []);
}

function ifThere<T>(read: () => T): T | null {
  try {
    return read();
  } catch (error) {
    if (isGone(error)) return null;
    throw error;
  }
}

const TICKS_PER_SECOND = 100;

/** The present in the unit of start times, a second early. */
export function ticksNow(): number {
  return Math.floor((uptime() - 1) * TICKS_PER_SECOND);
}

const LINE = Buffer.alloc(4_096);

/** Reads one line into a shared buffer, without asking for its size. */
function readLine(path: string): string {
  const file = openSync(path, 'r');
  try {
    return LINE.toString('latin1', 0, readSync(file, LINE));
  } finally {
    closeSync(file);
  }
}

/** Synchronous. Returns null when the process cannot be identified, for any reason. */
export function identifyNow(pid: number): ProcessIdentity | null {
  try {
    const facts = processFacts(pid);
    return facts === null ? null : { pid, startTime: facts.startTime };
  } catch {
    return null;
  }
}

export function isStillAlive(process: ProcessIdentity): boolean {
  const facts = processFacts(process.pid);
  return facts?.isAlive === true && facts.startTime === process.startTime;
}

/** Signals exactly this process, never a later one with the same pid. Returns false when it is gone. */
export function signalExactly(target: ProcessIdentity, signal: NodeJS.Signals): boolean {
  try {
    // Read and kill synchronously: the smallest window that is possible without pidfd.
    const facts = processFacts(target.pid);
    if (facts === null || !facts.isAlive || facts.startTime !== target.startTime) return false;
    return process.kill(target.pid, signal);
  } catch (error) {
    if (isGone(error)) return false;
    throw error;
  }
}

async function listPids(): Promise<readonly number[]> {
  if (process.platform !== 'linux') return [];
  return (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number);
}

/** Returns null when the process is gone or may not be inspected. */
export async function readIfThere(path: string): Promise<Buffer | null> {
  try {
    return await readFile(path);
  } catch (error) {
    if (isGone(error)) return null;
    throw error;
  }
}

const GONE_CODES = new Set(['ENOENT', 'ESRCH', 'EACCES', 'EPERM']);

function isGone(error: unknown): boolean {
  return error instanceof Error && 'code' in error && GONE_CODES.has(String(error.code));
}

function parseStat(pid: number, stat: string): ProcessFacts | null {
  // The name, in parentheses, may itself contain blanks and parentheses.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const [state, parentId, groupId] = fields;
  const startTime = fields[19];
  if (state === undefined || groupId === undefined || startTime === undefined) return null;
  return { pid, startTime, parentId: Number(parentId), groupId: Number(groupId), isAlive: !'ZXx'.includes(state) };
}
