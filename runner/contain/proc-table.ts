import { closeSync, openSync, readSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { setImmediate as yieldToOthers } from 'node:timers/promises';

/** A process, told apart from a later one with the same number by when it started (clock ticks since boot). */
export interface ProcessIdentity {
  readonly pid: number;
  readonly startTime: string;
}

export interface ProcessFacts extends ProcessIdentity {
  readonly parentId: number;
  readonly groupId: number;
  /** A zombie has ended; only its parent has not looked yet. */
  readonly isAlive: boolean;
}

/** Every process that the kernel shows us, but those; empty off Linux. */
export async function listProcesses(but: readonly ProcessFacts[] = []): Promise<readonly ProcessFacts[]> {
  return forEachPid(processFacts, but);
}

/**
 * What `look` finds in each process. Goes on until no new ones have come up meanwhile: the later rounds have few to read
 * and so catch up with a process that forks and ends faster than all of /proc can be read.
 */
export async function forEachPid<T>(
  look: (pid: number) => T | null | Promise<T | null>,
  but: readonly ProcessIdentity[] = [],
): Promise<readonly T[]> {
  const seen = new Set(but.map(({ pid }) => pid));
  const found: T[] = [];
  for (let round = 0; round < MAX_ROUNDS; round += 1) {
    const fresh = (await listPids()).filter((pid) => !seen.has(pid));
    if (fresh.length === 0) break;
    // In batches, so that a machine with very many processes does not use up our descriptors.
    for (let start = 0; start < fresh.length; start += BATCH_SIZE) {
      if (start > 0) await yieldToOthers();
      const batch = await Promise.all(fresh.slice(start, start + BATCH_SIZE).map(look));
      found.push(...batch.filter((each) => each !== null));
    }
    for (const pid of fresh) seen.add(pid);
  }
  return found;
}

const BATCH_SIZE = 100;
const MAX_ROUNDS = 20;

/**
 * Read at once: a tenth of what it costs to wait for it, and the end of every process is a look at all of them. Unlike the
 * environment of a process this can be read while the process hangs inside the kernel.
 */
export function processFacts(pid: number): ProcessFacts | null {
  try {
    return parseStat(pid, readLine(`/proc/${pid}/stat`));
  } catch (error) {
    if (isGone(error)) return null;
    throw error;
  }
}

const LINE = Buffer.alloc(4_096);

/** One line and no more: without asking for its size, and without a buffer of its own. */
function readLine(path: string): string {
  const file = openSync(path, 'r');
  try {
    return LINE.toString('latin1', 0, readSync(file, LINE));
  } finally {
    closeSync(file);
  }
}

/** At once, for what must not wait; `null` when it cannot be told, for whatever reason. */
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

/** Signals exactly this process, never a later one that was given its number. False when it is gone. */
export function signalExactly(target: ProcessIdentity, signal: NodeJS.Signals): boolean {
  try {
    // Read and kill without a pause between them: the shortest window that there is without pidfd.
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

/** `null` when the process is gone or not ours to look into. */
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
  // The name, in parentheses, may itself hold blanks and parentheses.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const [state, parentId, groupId] = fields;
  const startTime = fields[19];
  if (state === undefined || groupId === undefined || startTime === undefined) return null;
  return { pid, startTime, parentId: Number(parentId), groupId: Number(groupId), isAlive: !'ZXx'.includes(state) };
}
