import { readFile } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import type { OpenRun } from '../../src/domain/ports.js';
import { DAEMON_MARKER_NAME, MARKER_NAME } from './marker-sweep.js';
import {
  forEachPid,
  isStillAlive,
  type ProcessFacts,
  type ProcessIdentity,
  processFacts,
  readIfThere,
  signalExactly,
} from './proc-table.js';

const LIMIT_MS = 5_000;
const CHECK_INTERVAL_MS = 20;
/** Passes that find nothing before the search ends: a process that is replacing its program shows no environment for a moment. */
const QUIET_PASSES = 2;

export interface ReapOptions {
  readonly daemonMarker: string;
  /** Runs that were alive according to the store. Old versions of Baton marked their processes with these only. */
  readonly runMarkers: ReadonlySet<string>;
  /** The records of the earlier daemon. */
  readonly openRuns: readonly OpenRun[];
  readonly bootId: string;
}

export interface ReapResult {
  readonly killed: number;
  /** Processes that survive SIGKILL, by the marker of their run; `''` when it is unknown. */
  readonly survivors: ReadonlyMap<string, readonly ProcessIdentity[]>;
}

/**
 * Kills the processes that a dead daemon left behind: every process with its marker, every process that it recorded (by pid, start time and
 * boot id, so that a later process with the same pid is never touched), their groups and all their descendants. They get SIGKILL at once.
 * Only the holder of the state lock may call this. Where namespaces work, the kernel has already done it.
 */
export async function reap(options: ReapOptions): Promise<ReapResult> {
  /** Every process found so far: a dying process cannot be found again once its leader or parent is gone. */
  const found = new Map<string, LeftoverProcess>();
  let killed = 0;
  const deadlineMs = performance.now() + LIMIT_MS;
  let quietPasses = 0;
  for (;;) {
    for (const left of await findLeftovers(options)) {
      const { pid, startTime } = left.process;
      found.set(`${pid} ${startTime}`, left);
    }
    const alive: LeftoverProcess[] = [];
    for (const [key, left] of found) {
      signalExactly(left.process, 'SIGKILL');
      // Checked, not concluded from the signal: a process that changed its user cannot be signalled, but is alive.
      if (isStillAlive(left.process)) alive.push(left);
      else if (found.delete(key)) killed += 1;
    }
    quietPasses = alive.length === 0 ? quietPasses + 1 : 0;
    if (quietPasses === QUIET_PASSES) return { killed, survivors: new Map() };
    if (performance.now() > deadlineMs) return { killed, survivors: byMarker(alive) };
    await pause(CHECK_INTERVAL_MS);
  }
}

/** Kills the survivors again and returns those that are still alive. Only these, because processes of this daemon carry the same marker. */
export async function stillAlive(survivors: readonly ProcessIdentity[]): Promise<readonly number[]> {
  const alive: number[] = [];
  for (const survivor of survivors) {
    signalExactly(survivor, 'SIGKILL');
    if (isStillAlive(survivor)) alive.push(survivor.pid);
  }
  return alive;
}

/** Identifies this boot of the machine; in another one the same pids meant other processes. Empty outside of Linux. */
export async function readBootId(): Promise<string> {
  return (await readFile('/proc/sys/kernel/random/boot_id', 'latin1').catch(() => '')).trim();
}

interface LeftoverProcess {
  readonly process: ProcessFacts;
  readonly marker: string;
}

interface SeenProcess {
  readonly facts: ProcessFacts;
  /** The run marker in the environment; null when the process does not belong to an earlier daemon by its environment. */
  readonly marker: string | null;
}

async function findLeftovers(options: ReapOptions): Promise<readonly LeftoverProcess[]> {
  const { openRuns, bootId } = options;
  const seen = await forEachPid((pid) => inspect(pid, options));
  const recorded = recordedMarkers(openRuns, bootId);
  const markers = new Map<number, string>();
  const leaders = new Map<number, string>();
  for (const { facts } of seen) {
    const marker = recorded.get(`${facts.pid} ${facts.startTime}`);
    if (marker === undefined) continue;
    markers.set(facts.pid, marker);
    // While the leader lives, no other group has its pid as number.
    if (facts.groupId === facts.pid) leaders.set(facts.pid, marker);
  }
  for (const { facts, marker: own } of seen) {
    const marker = markers.get(facts.pid) ?? leaders.get(facts.groupId) ?? own;
    if (marker !== null) markers.set(facts.pid, marker);
  }
  addDescendants(seen, markers);
  // This daemon may itself have been started by a process of an earlier run.
  for (const pid of ancestors(seen)) markers.delete(pid);
  return seen.flatMap(({ facts }) => {
    const marker = markers.get(facts.pid);
    return marker === undefined ? [] : [{ process: facts, marker }];
  });
}

async function inspect(pid: number, { daemonMarker, runMarkers }: ReapOptions): Promise<SeenProcess | null> {
  const facts = pid === process.pid ? null : processFacts(pid);
  if (!facts?.isAlive) return null;
  const environment = (await readIfThere(`/proc/${pid}/environ`))?.toString('latin1').split('\0') ?? [];
  const prefix = `${MARKER_NAME}=`;
  const marker = environment.find((entry) => entry.startsWith(prefix))?.slice(prefix.length) ?? '';
  const isOurs = runMarkers.has(marker) || environment.includes(`${DAEMON_MARKER_NAME}=${daemonMarker}`);
  return { facts, marker: isOurs ? marker : null };
}

function ancestors(seen: readonly SeenProcess[]): readonly number[] {
  const parents = new Map(seen.map(({ facts }) => [facts.pid, facts.parentId]));
  const found: number[] = [];
  for (let pid = process.ppid; pid > 1 && parents.has(pid); pid = parents.get(pid) ?? 0) found.push(pid);
  return found;
}

function recordedMarkers(openRuns: readonly OpenRun[], bootId: string): ReadonlyMap<string, string> {
  const recorded = openRuns.flatMap(({ marker, processes }) =>
    processes
      .filter((one) => one.bootId === bootId && bootId !== '')
      .map(({ pid, startTime }) => [`${pid} ${startTime}`, marker] as const),
  );
  return new Map(recorded);
}

/** Finds children that have cleared their environment and left their group, as long as their parent lives. */
function addDescendants(seen: readonly SeenProcess[], markers: Map<number, string>): void {
  for (let before = -1; before < markers.size; ) {
    before = markers.size;
    for (const { facts } of seen) {
      const marker = markers.get(facts.parentId);
      if (marker !== undefined && !markers.has(facts.pid)) markers.set(facts.pid, marker);
    }
  }
}

function byMarker(leftovers: readonly LeftoverProcess[]): ReadonlyMap<string, readonly ProcessIdentity[]> {
  const found = new Map<string, ProcessIdentity[]>();
  for (const { process, marker } of leftovers) found.set(marker, [...(found.get(marker) ?? []), process]);
  return found;
}
