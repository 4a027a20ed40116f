import { constants } from 'node:os';
import type { Duplex } from 'node:stream';
import { type Clock, TimeLimit } from '../../src/domain/clock.js';
import { BatonError } from '../../src/domain/errors.js';
import { drain } from './capture-output.js';
import { childrenOf, isStillAlive, type ProcessIdentity, processFacts, signalExactly } from './proc-table.js';
import type { ExitStatus } from './process.js';
import type { StartedProcess } from './start-process.js';
import type { ProcessTree } from './stop-ladder.js';

const READY_LIMIT_MS = 30_000;
const MAX_COMPLAINT_BYTES = 4_000;

/** A namespace whose command has started. */
interface EnteredNamespace {
  /** PID 1 of the namespace, with its pid on the host. */
  readonly first: ProcessIdentity;
  /** The pid of the command on the host. */
  readonly commandPid: number;
  /** How the command ended. Null when its namespace was killed before. Settles at the end of the namespace at the latest. Never rejects. */
  readonly ended: Promise<ExitStatus | null>;
}

/**
 * Starts the command of a namespace: `init.sh` reports that everything is hidden, the processes are identified, then the command gets its
 * go. Throws `BatonError` when one of these fails, and then nothing is left running.
 */
export async function enterNamespace(child: StartedProcess, clock: Clock): Promise<EnteredNamespace> {
  const { report } = child;
  if (report === null) throw new BatonError('internal_error', 'A namespace was started without its report');
  const lines = linesOf(report);
  const limit = new TimeLimit(clock, READY_LIMIT_MS);
  // Node drops the output of a child that ends, unless something listens.
  child.stderr.on('readable', keepOutput);
  try {
    const line = await limit.race(lines.next());
    // Without a line the report has ended; stderr says why.
    const word = line?.done ? '' : line?.value;
    child.stderr.off('readable', keepOutput);
    if (word !== 'ready') throw await refusal(child, word, clock);
    const first = firstOfNamespace(child.pid);
    const [commandPid = first.pid] = childrenOf(first.pid);
    // From here on nothing is awaited: the output of a command that ends before its caller reads it would be lost.
    report.write('go\n');
    const ended = endOf(lines).catch(() => null);
    void ended.then(() => report.destroy());
    return { first, commandPid, ended };
  } catch (error) {
    report.destroy();
    killGroup(child);
    await child.exited;
    throw error;
  } finally {
    limit.end();
  }
}

function keepOutput(): void {}

const MAX_LINE_CHARACTERS = 4_000;

async function* linesOf(report: Duplex): AsyncGenerator<string, undefined> {
  let rest = '';
  for await (const chunk of report.iterator({ destroyOnReturn: false })) {
    const lines = `${rest}${chunk}`.split('\n');
    rest = (lines.pop() ?? '').slice(-MAX_LINE_CHARACTERS);
    yield* lines;
  }
  if (rest !== '') yield rest;
}

/** Reads what `init.sh` reports about the end: a line of `jobs`, then the status as a shell sees it. */
async function endOf(lines: AsyncIterable<string>): Promise<ExitStatus | null> {
  let exitCode: number | null = null;
  for await (const line of lines) {
    const [, code] = /^\[\d+\]\S*\s+Exit (\d+)\s/.exec(line) ?? [];
    if (code !== undefined) exitCode = Number(code);
    const [, status] = /^ended (\d+)$/.exec(line) ?? [];
    if (status !== undefined) return commandStatus(Number(status), exitCode);
  }
  return null;
}

/** A shell sees death by signal `n` and the exit code 128 + n as the same status. `exitCode` is null unless the command has exited with it. */
function commandStatus(status: number, exitCode: number | null): ExitStatus {
  return status <= 128 || exitCode === status
    ? { code: status, signal: null }
    : { code: null, signal: SIGNAL_NAMES.get(status - 128) ?? null };
}

/** Of several names the first one, which Node.js uses too: SIGABRT and not SIGIOT. */
const SIGNAL_NAMES = new Map(
  Object.entries(constants.signals)
    .toReversed()
    .map(([name, number]) => [number, name as NodeJS.Signals] as const),
);

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

  constructor(
    readonly first: ProcessIdentity,
    /** The daemon's child. The namespace ends with it. */
    readonly outer: { readonly pid: number; hasExited(): boolean },
  ) {}

  async signal(name: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    // The first process passes TERM on to all others; killing it empties the namespace.
    if (name === 'SIGTERM') signalExactly(this.first, name);
    else this.#kill();
  }

  #kill(): void {
    try {
      signalExactly(this.first, 'SIGKILL');
    } catch (error) {
      // Without a free file descriptor /proc cannot be read. The pid of our own child is valid until it is reaped.
      if (this.outer.hasExited()) throw error;
      process.kill(this.outer.pid, 'SIGKILL');
    }
  }

  async survivors(): Promise<readonly number[]> {
    return isStillAlive(this.first) ? [this.first.pid] : [];
  }
}

/** The namespace's PID 1 with its pid on the host: the only child of the outer process. Throws `spawn_failed`. */
function firstOfNamespace(outerPid: number): ProcessIdentity {
  const [pid, ...others] = childrenOf(outerPid);
  const facts = pid !== undefined && others.length === 0 ? processFacts(pid) : null;
  if (facts !== null) return { pid: facts.pid, startTime: facts.startTime };
  throw new BatonError(
    'spawn_failed',
    `The first process of the namespace under pid ${outerPid} cannot be found in /proc`,
  );
}
