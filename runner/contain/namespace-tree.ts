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
 * Lets the command of a namespace begin: `init.sh` says that all is hidden, we note the namespace's first process, then we
 * say go. Throws `BatonError` when it does not come to that, and then nothing is left running.
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
 * The status of the command, as `init.sh` and `unshare` hand it on: a death by signal `n` arrives as code 128 + n, and our own
 * KILL on the namespace as code 1.
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
 * A tree inside a PID namespace, held by its first process: the kernel lets that one end only after every other process
 * of the namespace is dead and reaped. So "the first process is gone" proves that nothing is left.
 */
export class NamespaceTree implements ProcessTree {
  /** Nothing leaves a namespace, so there are no strays to look for. */
  readonly swept = 0;
  #wasKilled = false;

  constructor(
    readonly first: ProcessIdentity,
    /** `unshare`, our child: the namespace ends with it. */
    readonly outer: { readonly pid: number; hasExited(): boolean },
  ) {}

  async signal(name: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    // Only the first process: it passes TERM on to all, and KILL on it empties the namespace.
    const wasThere = name === 'SIGTERM' ? signalExactly(this.first, name) : this.#kill();
    if (wasThere && name === 'SIGKILL') this.#wasKilled = true;
  }

  #kill(): boolean {
    try {
      return signalExactly(this.first, 'SIGKILL');
    } catch (error) {
      // Without a free descriptor /proc cannot be read. Our own child we know without it, until it is reaped.
      if (this.outer.hasExited()) throw error;
      return process.kill(this.outer.pid, 'SIGKILL');
    }
  }

  /** Whether the namespace was ended by us, with whatever was running in it. */
  get wasKilled(): boolean {
    return this.#wasKilled;
  }

  async survivors(): Promise<readonly number[]> {
    return isStillAlive(this.first) ? [this.first.pid] : [];
  }
}

/** The namespace's PID 1 as the host numbers it: the only child of `unshare`. Throws `spawn_failed`. */
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
