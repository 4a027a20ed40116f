import { constants } from 'node:os';
import type { Duplex } from 'node:stream';
import { type Clock, TimeLimit } from '../../src/domain/clock.js';
import { BatonError } from '../../src/domain/errors.js';
import { drain } from './capture-output.js';
import { isStillAlive, type ProcessIdentity, processFacts, readIfThere, signalExactly } from './proc-table.js';
import type { ExitStatus } from './process.js';
import type { StartedProcess } from './start-process.js';
import type { ProcessTree } from './stop-ladder.js';

const READY_LIMIT_MS = 30_000;
const MAX_COMPLAINT_BYTES = 4_000;

/**
 * Starts the command of a namespace: `init.sh` reports that everything is hidden, the first process of the namespace is identified, then
 * `init.sh` gets its go. Throws `BatonError` when one of these fails, and then nothing is left running.
 */
export async function enterNamespace(child: StartedProcess, clock: Clock): Promise<ProcessIdentity> {
  const { report } = child;
  if (report === null) throw new BatonError('internal_error', 'A namespace was started without its report');
  const limit = new TimeLimit(clock, READY_LIMIT_MS);
  try {
    const word = await limit.race(firstLine(report));
    if (word !== 'ready') throw await refusal(child, word, clock);
    const first = await firstOfNamespace(child.pid);
    report.write('go\n', () => report.destroy());
    return first;
  } catch (error) {
    report.destroy();
    killGroup(child);
    await child.exited;
    throw error;
  } finally {
    limit.end();
  }
}

/**
 * The status of the command, decoded from the exit code of `init.sh` and `unshare`: death by signal `n` arrives as code 128 + n, and our
 * own KILL of the namespace as code 1.
 */
export function commandStatus(status: ExitStatus, wasKilled: boolean): ExitStatus {
  const { code } = status;
  if (code === 1 && wasKilled) return { code: null, signal: 'SIGKILL' };
  if (code === null || code <= 128) return status;
  const signal = SIGNAL_NAMES.get(code - 128);
  return signal === undefined ? status : { code: null, signal };
}

const SIGNAL_NAMES = new Map(
  Object.entries(constants.signals).map(([name, number]) => [number, name as NodeJS.Signals] as const),
);

async function firstLine(report: Duplex): Promise<string> {
  let text = '';
  for await (const chunk of report.iterator({ destroyOnReturn: false })) {
    text += String(chunk);
    const end = text.indexOf('\n');
    if (end >= 0) return text.slice(0, end);
  }
  return text;
}

async function refusal(child: StartedProcess, word: string | undefined, clock: Clock): Promise<BatonError> {
  if (word === 'refused workspace_changed') {
    return new BatonError(
      'workspace_changed',
      'The working directory was replaced while the process started; nothing ran in it',
    );
  }
  killGroup(child);
  const complaint = await drain(child.stderr, child.exited, { maxBytes: MAX_COMPLAINT_BYTES, clock, drainMs: 1_000 });
  const why = word === undefined ? `it was not ready after ${READY_LIMIT_MS} ms` : word.replace(/^refused /, '');
  const parts = [why, complaint.text.trim()].filter((part) => part !== '');
  return new BatonError('spawn_failed', `The namespace of a process could not be made: ${parts.join(': ')}`);
}

function killGroup(child: StartedProcess): void {
  if (!child.hasExited()) process.kill(-child.pid, 'SIGKILL');
}

/**
 * A process tree in a PID namespace. The kernel lets the first process end only after all others are dead and reaped, so nothing is left
 * once it is gone.
 */
export class NamespaceTree implements ProcessTree {
  /** No process can leave a namespace, so there are no strays. */
  readonly swept = 0;
  #wasKilled = false;

  constructor(
    readonly first: ProcessIdentity,
    /** `unshare`, the daemon's child. The namespace ends with it. */
    readonly outer: { readonly pid: number; hasExited(): boolean },
  ) {}

  async signal(name: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    // The first process passes TERM on to all others; killing it empties the namespace.
    const wasThere = name === 'SIGTERM' ? signalExactly(this.first, name) : this.#kill();
    if (wasThere && name === 'SIGKILL') this.#wasKilled = true;
  }

  #kill(): boolean {
    try {
      return signalExactly(this.first, 'SIGKILL');
    } catch (error) {
      // Without a free file descriptor /proc cannot be read. The pid of our own child is valid until it is reaped.
      if (this.outer.hasExited()) throw error;
      return process.kill(this.outer.pid, 'SIGKILL');
    }
  }

  /** Whether the daemon has killed the namespace. */
  get wasKilled(): boolean {
    return this.#wasKilled;
  }

  async survivors(): Promise<readonly number[]> {
    return isStillAlive(this.first) ? [this.first.pid] : [];
  }
}

/** The namespace's PID 1 with its pid on the host: the only child of `unshare`. Throws `spawn_failed`. */
async function firstOfNamespace(outerPid: number): Promise<ProcessIdentity> {
  const children = await readIfThere(`/proc/${outerPid}/task/${outerPid}/children`);
  const pids = children?.toString('latin1').trim().split(' ') ?? [];
  const facts = pids.length === 1 ? processFacts(Number(pids[0])) : null;
  if (facts !== null) return { pid: facts.pid, startTime: facts.startTime };
  throw new BatonError(
    'spawn_failed',
    `The first process of the namespace under pid ${outerPid} cannot be found in /proc`,
  );
}
