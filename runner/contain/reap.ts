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
const LOOK_EVERY_MS = 20;

export interface ReapOptions {
  readonly daemonMarker: string;
  /** Of runs that were alive by what is stored: a Baton of before marked its processes with these alone. */
  readonly runMarkers: ReadonlySet<string>;
  /** What the daemon before had noted down. */
  readonly openRuns: readonly OpenRun[];
  readonly bootId: string;
}

export interface Reaped {
  readonly killed: number;
  /** What outlives SIGKILL, by the marker of its run; `''` where that is not known. */
  readonly survivors: ReadonlyMap<string, readonly ProcessIdentity[]>;
}

/**
 * Ends what a dead daemon left: every process that carries its marker, every process it had noted down (by number, start time and
 * life of the machine, so that another one that was given the number later is never touched), their groups, and all
 * that descends from these. SIGKILL at once: nobody is there to listen to them any more. Only who holds the lock of the state directory
 * may call this. Where namespaces work the kernel has done it already, and this is one look.
 */
export async function reap(options: ReapOptions): Promise<Reaped> {
  /** Everything that was ever found: without its leader or its parent a process that is about to die is found no more. */
  const found = new Map<string, Left>();
  let killed = 0;
  const deadlineMs = performance.now() + LIMIT_MS;
  for (;;) {
    for (const left of await findLeft(options)) {
      const { pid, startTime } = left.process;
      found.set(`${pid} ${startTime}`, left);
    }
    const alive: Left[] = [];
    for (const [key, left] of found) {
      signalExactly(left.process, 'SIGKILL');
      // Looked at, not concluded from the signal: one that became another user's cannot be signalled, and is there.
      if (isStillAlive(left.process)) alive.push(left);
      else if (found.delete(key)) killed += 1;
    }
    if (alive.length === 0) return { killed, survivors: new Map() };
    if (performance.now() > deadlineMs) return { killed, survivors: byMarker(alive) };
    await pause(LOOK_EVERY_MS);
  }
}

/** Those of the survivors that are still there. Exactly these: by now processes of this daemon carry the same marker. */
export async function stillAlive(survivors: readonly ProcessIdentity[]): Promise<readonly number[]> {
  const alive: number[] = [];
  for (const survivor of survivors) {
    signalExactly(survivor, 'SIGKILL');
    if (isStillAlive(survivor)) alive.push(survivor.pid);
  }
  return alive;
}

/** Tells this life of the machine from others, in which the same numbers meant other processes. Empty off Linux. */
export async function readBootId(): Promise<string> {
  return (await readFile('/proc/sys/kernel/random/boot_id', 'latin1').catch(() => '')).trim();
}

interface Left {
  readonly process: ProcessFacts;
  readonly marker: string;
}

interface Seen {
  readonly facts: ProcessFacts;
  /** The run that a process of this daemon belongs to; `null`: its environment does not say that it is of this daemon. */
  readonly told: string | null;
}

async function findLeft(options: ReapOptions): Promise<readonly Left[]> {
  const { openRuns, bootId } = options;
  const seen = await forEachPid((pid) => look(pid, options));
  const noted = notedMarkers(openRuns, bootId);
  const markers = new Map<number, string>();
  const leaders = new Map<number, string>();
  for (const { facts } of seen) {
    const marker = noted.get(`${facts.pid} ${facts.startTime}`);
    if (marker === undefined) continue;
    markers.set(facts.pid, marker);
    // While the leader lives, its number names its group and no other.
    if (facts.groupId === facts.pid) leaders.set(facts.pid, marker);
  }
  for (const { facts, told } of seen) {
    const marker = markers.get(facts.pid) ?? leaders.get(facts.groupId) ?? told;
    if (marker !== null) markers.set(facts.pid, marker);
  }
  addDescendants(seen, markers);
  // Whoever started us may itself have been started by a run of before.
  for (const pid of ancestors(seen)) markers.delete(pid);
  return seen.flatMap(({ facts }) => {
    const marker = markers.get(facts.pid);
    return marker === undefined ? [] : [{ process: facts, marker }];
  });
}

async function look(pid: number, { daemonMarker, runMarkers }: ReapOptions): Promise<Seen | null> {
  const facts = pid === process.pid ? null : processFacts(pid);
  if (!facts?.isAlive) return null;
  const environment = (await readIfThere(`/proc/${pid}/environ`))?.toString('latin1').split('\0') ?? [];
  const prefix = `${MARKER_NAME}=`;
  const marker = environment.find((entry) => entry.startsWith(prefix))?.slice(prefix.length) ?? '';
  const isOurs = runMarkers.has(marker) || environment.includes(`${DAEMON_MARKER_NAME}=${daemonMarker}`);
  return { facts, told: isOurs ? marker : null };
}

function ancestors(seen: readonly Seen[]): readonly number[] {
  const parents = new Map(seen.map(({ facts }) => [facts.pid, facts.parentId]));
  const found: number[] = [];
  for (let pid = process.ppid; pid > 1 && parents.has(pid); pid = parents.get(pid) ?? 0) found.push(pid);
  return found;
}

function notedMarkers(openRuns: readonly OpenRun[], bootId: string): ReadonlyMap<string, string> {
  const noted = openRuns.flatMap(({ marker, processes }) =>
    processes
      .filter((one) => one.bootId === bootId && bootId !== '')
      .map(({ pid, startTime }) => [`${pid} ${startTime}`, marker] as const),
  );
  return new Map(noted);
}

/** A child that emptied its environment and left its group is still the child of its parent, as long as that one lives. */
function addDescendants(seen: readonly Seen[], markers: Map<number, string>): void {
  for (let before = -1; before < markers.size; ) {
    before = markers.size;
    for (const { facts } of seen) {
      const marker = markers.get(facts.parentId);
      if (marker !== undefined && !markers.has(facts.pid)) markers.set(facts.pid, marker);
    }
  }
}

function byMarker(left: readonly Left[]): ReadonlyMap<string, readonly ProcessIdentity[]> {
  const found = new Map<string, ProcessIdentity[]>();
  for (const { process, marker } of left) found.set(marker, [...(found.get(marker) ?? []), process]);
  return found;
}
