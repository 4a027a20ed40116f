import type { Duplex, Readable, Writable } from 'node:stream';
import type { Clock } from '../../src/domain/clock.js';
import type { ProcessIdentity } from './proc-table.js';

export interface SpawnSpec {
  /** Marks every process of the run in its environment (`BATON_RUN_MARKER`), so that strays can be found. */
  readonly marker: string;
  /** Given to `bash -lc`. */
  readonly script: string;
  readonly cwd: string;
  /** The directory that `cwd` must still be at the moment of the spawn. */
  readonly identity: DirectoryIdentity;
  /** The whole environment of the process; nothing is inherited. */
  readonly env: { readonly [name: string]: string };
  /** Names unset again after the login shell read its profile. */
  readonly unset: readonly string[];
  readonly stdin: 'pipe' | 'ignore';
  /** Give it the channel that Node.js programs know as `process.send`. */
  readonly channel?: boolean;
}

export interface DirectoryIdentity {
  readonly dev: number;
  readonly ino: number;
}

/** A directory over a longer time: the number of a deleted one soon names another, which was made later. */
export interface FolderIdentity extends DirectoryIdentity {
  readonly bornMs: number;
}

export interface ContainedProcess {
  readonly pid: number;
  /** Never emits an unhandled error; `null` when ignored. */
  readonly stdin: Writable | null;
  readonly stdout: Readable;
  readonly stderr: Readable;
  /** The near end of its channel, JSON lines both ways; `null` when none was asked for. Never emits an unhandled error. */
  readonly channel: Duplex | null;
  /** Settles when the command itself has ended; its children may still live. Never rejects. */
  readonly exited: Promise<ExitStatus>;
  /**
   * Ends the whole tree: close stdin → TERM → KILL → sweep, each step only when the one before did not do. Resolves once
   * nothing of it is alive, or with `gone: false` after 30 s of SIGKILL. Safe to call twice and after the exit; a later call
   * can only hurry the ladder. Whoever spawned calls it in `finally`, after a normal exit too: without namespaces
   * children of the command live on until then.
   */
  stop(ladder?: Partial<StopLadder>): Promise<StopResult>;
}

export interface ExitStatus {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface StopLadder {
  /** How long to wait after closing stdin, and after TERM. */
  readonly eofMs: number;
  readonly termMs: number;
  readonly killMs: number;
}

export type StopResult =
  | { readonly gone: true; readonly swept: number }
  /** `survivors`: pids still alive. `whenGone` settles if they ever end. */
  | { readonly gone: false; readonly survivors: readonly number[]; readonly whenGone: Promise<void> };

/** How processes are contained here; made once at start by `detectContainment`. */
export type Containment = NamespaceContainment | GroupContainment;

/** Every command is alone in a PID namespace, which the kernel empties when its first process ends. */
export interface NamespaceContainment extends ContainmentBase {
  readonly kind: 'pidns';
  /** An ordinary user needs a user namespace around it; root does not. */
  readonly userNamespace: boolean;
  readonly hide: readonly HiddenDirectory[];
}

/** Group kill and a sweep for the marker: best effort, and nothing is hidden. */
interface GroupContainment extends ContainmentBase {
  readonly kind: 'none';
}

interface ContainmentBase {
  /** One sentence for the log: what holds here and why. */
  readonly reason: string;
  readonly bash: string;
  readonly clock: Clock;
  /** For a daemon that comes after this one and must end what it left; none in commands that start nothing that could stay. */
  readonly trace?: ProcessTrace;
}

export interface ProcessTrace {
  /** In the environment of every process (`BATON_DAEMON_MARKER`): the same for all daemons on one state directory. */
  readonly daemonMarker: string;
  /** Hears of the processes that hold a tree together. Never throws; nobody waits for it. */
  started(marker: string, holders: readonly ProcessIdentity[]): void;
  /** Nothing of what they held together is left. Never throws. */
  ended(marker: string, holders: readonly ProcessIdentity[]): void;
}

/** Pinned by device and inode: a directory that was moved away is not taken for hidden. */
export interface HiddenDirectory {
  readonly path: string;
  readonly dev: bigint;
  readonly ino: bigint;
}

/**
 * A process whose `stop` settles only once nothing of it is left, and says meanwhile that it cannot be killed. Its output
 * ends no sooner, so whoever waits for both would never come to say it.
 */
export function untilGone(
  process: ContainedProcess,
  onUnkillable: (survivors: readonly number[]) => void,
): ContainedProcess {
  return {
    ...process,
    async stop(ladder) {
      const result = await process.stop(ladder);
      if (!result.gone) {
        onUnkillable(result.survivors);
        await result.whenGone;
      }
      return result;
    },
  };
}
