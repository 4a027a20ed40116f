import type { Duplex, Readable, Writable } from 'node:stream';
import type { Clock } from '../../src/domain/clock.js';
import type { RuntimeConfig } from '../../src/domain/config.js';
import type { ProcessIdentity } from './proc-table.js';

/** A shell script or a program, and how it is started. */
export type SpawnSpec = SpawnOptions & (ScriptCommand | ProgramCommand);

export interface SpawnOptions {
  /** Marks every process of the run in its environment (`BATON_RUN_MARKER`), so that strays can be found. */
  readonly marker: string;
  readonly cwd: string;
  /** The directory that `cwd` must still be at the moment of the spawn. */
  readonly identity: DirectoryIdentity;
  /** The whole environment of the process; nothing is inherited. */
  readonly env: { readonly [name: string]: string };
  /** `kernel_pipe`: a pipe that the child can open as /dev/stdin, on `ContainedProcess.input`; without /proc the same as `pipe`. */
  readonly stdin: 'pipe' | 'kernel_pipe' | 'ignore';
  /** Hidden from this process in addition to the directories that are hidden from every run. Without a namespace nothing is hidden. */
  readonly hide?: readonly HiddenDirectory[];
  /** Opens the channel that Node.js programs know as `process.send`. */
  readonly channel?: boolean;
  /**
   * Called when processes survive SIGKILL. With it, `stop` settles only once they are gone; the output ends no sooner, so a caller that
   * waits for both would otherwise never report them.
   */
  onUnkillable?(survivors: readonly number[]): void;
}

/** Run by `bash -lc`. */
interface ScriptCommand {
  readonly script: string;
  /** Variables that are unset again after the login shell has read its profile. */
  readonly unset: readonly string[];
}

/** Started without a shell. */
export interface ProgramCommand {
  readonly file: string;
  readonly args: readonly string[];
}

export interface DirectoryIdentity {
  readonly dev: number;
  readonly ino: number;
}

/** Identifies a directory over a longer time: the inode number of a deleted directory is soon reused, but with a later birth time. */
export interface FolderIdentity extends DirectoryIdentity {
  readonly bornMs: number;
}

export interface ContainedProcess {
  /** Of the command itself. */
  readonly pid: number;
  /** Never emits an unhandled error; `null` when ignored. */
  readonly stdin: Writable | null;
  /** With `kernel_pipe`, instead of `stdin`. The caller that spawned closes it. */
  readonly input?: InputPipe | null;
  readonly stdout: Readable;
  readonly stderr: Readable;
  /** Our end of the channel, JSON lines both ways; `null` without `channel`. Never emits an unhandled error. */
  readonly channel: Duplex | null;
  /** Settles when the command itself has ended; its children may still live. Never rejects. */
  readonly exited: Promise<ExitStatus>;
  /**
   * Ends the whole tree: close stdin → TERM → KILL → sweep, each step only when the one before was not enough. Resolves once all
   * processes are gone, or with `gone: false` after 30 s of SIGKILL. Can be called twice and after the exit; a later call can only
   * shorten the ladder. The caller that spawned calls it in `finally`, after a normal exit too: without namespaces, children of
   * the command live on until then.
   */
  stop(ladder?: Partial<StopLadder>): Promise<StopResult>;
}

/** Our side of a child's stdin that is a pipe. The caller closes it. */
export interface InputPipe {
  readonly writable: Writable;
  /** Whether bytes were left in the pipe. Call it when no process of the child is left; the bytes are gone afterwards. */
  hasUnread(): boolean;
  close(): void;
}

export interface ExitStatus {
  /** Null after a signal. */
  readonly code: number | null;
  /** Null also after a signal that Node.js has no name for: a realtime signal. */
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
  /** `survivors`: pids that are still alive. `whenGone` settles if they ever end. */
  | { readonly gone: false; readonly survivors: readonly number[]; readonly whenGone: Promise<void> };

/** How processes are contained on this machine. `detectContainment` decides it once at the start. */
export type Containment = NamespaceContainment | GroupContainment;

/** Every command is alone in a PID namespace, which the kernel empties when its first process ends. */
export interface NamespaceContainment extends ContainmentBase {
  readonly kind: 'pidns';
  /** An ordinary user needs a user namespace around it; root does not. */
  readonly userNamespace: boolean;
  readonly hide: readonly HiddenDirectory[];
  /** Paths that are hidden as well, if they exist. Asked before every spawn. */
  hideMore?(): Promise<readonly string[]>;
}

/** Kills the process group and sweeps for the marker: best effort, and nothing is hidden. */
interface GroupContainment extends ContainmentBase {
  readonly kind: 'none';
}

interface ContainmentBase {
  /** One sentence for the log: which containment works here, and why. */
  readonly reason: string;
  readonly bash: string;
  readonly clock: Clock;
  /** Records processes, so that a later daemon can end those that this one leaves behind. Commands that leave nothing have none. */
  readonly trace?: ProcessTrace;
  /** Aborted when the daemon is forced to exit. Then no process starts any more. */
  readonly halted?: AbortSignal;
  /** Commands outside of runs have no limits. */
  readonly limits?: LimitsOfRuns;
}

export type LimitSettings = Pick<RuntimeConfig, 'maxProcesses' | 'maxMemoryMb' | 'cpuWeight'>;

/** The commands with the same marker share the limits of their run. No method throws. */
export interface LimitsOfRuns {
  /** Before the first process of the run. */
  begin(marker: string, settings: LimitSettings): Promise<void>;
  /** Asked for each command. Null when the marker belongs to no run. */
  of(marker: string): CommandLimits | null;
  /** After the last process of the run. */
  end(marker: string): Promise<ReachedLimit | null>;
}

/** Null: not limited in this way. */
export interface CommandLimits {
  /** The file of its control group by which a process joins. */
  readonly join: string | null;
  readonly processes: number | null;
  /** Data of each process. */
  readonly dataMb: number | null;
}

export interface ReachedLimit {
  readonly code: 'memory_exceeded' | 'processes_exceeded';
  readonly detail: string;
}

export interface ProcessTrace {
  /** In the environment of every process (`BATON_DAEMON_MARKER`): the same for all daemons on one state directory. */
  readonly daemonMarker: string;
  /** The processes that hold a tree together have started. Never throws and is not awaited. */
  started(marker: string, holders: readonly ProcessIdentity[]): void;
  /** All processes of the tree are gone. Never throws. */
  ended(marker: string, holders: readonly ProcessIdentity[]): void;
}

/** A folder that a run cannot rename or remove. */
export interface FixedFolder {
  readonly path: string;
  readonly dev: bigint;
  readonly ino: bigint;
}

/** Pinned by device and inode: a directory that is moved away does not count as hidden. */
export interface HiddenDirectory extends FixedFolder {
  /** Its owner may remove it at any time. A directory that is gone then does not prevent a start. */
  readonly mayVanish?: boolean;
}
