import { release, totalmem } from 'node:os';
import { scopeOf, toBatonError } from '../../src/domain/errors.js';
import { failure, type Outcome } from '../../src/domain/outcome.js';
import { ControlGroups, type Controller, findDelegatedGroup, type GroupEvents } from './control-groups.js';
import type {
  CommandLimits,
  Containment,
  HiddenDirectory,
  LimitSettings,
  LimitsOfRuns,
  ReachedLimit,
} from './process.js';

/** How this machine can limit the processes of a run. */
export interface LimitMeans {
  /** A control group for each run. */
  readonly controllers: readonly Controller[];
  /** Why there is no control group; null when there is one. */
  readonly obstacle: string | null;
  /** Without a control group: `ulimit -u` counts the processes of one command, not those of the account. */
  readonly countsPerCommand: boolean;
}

/** Of the machine, or of the container around it. */
export function machineMemoryMb(): number {
  const constrained = process.constrainedMemory?.() ?? 0;
  const bytes = constrained > 0 ? Math.min(constrained, totalmem()) : totalmem();
  return Math.floor(bytes / 1024 / 1024);
}

export function memoryLimitMb({ maxMemoryMb }: Pick<LimitSettings, 'maxMemoryMb'>, machineMb: number): number | null {
  return maxMemoryMb === null ? Math.floor((machineMb * 3) / 4) : maxMemoryMb === 0 ? null : maxMemoryMb;
}

/**
 * The limits of each command. `ulimit -d` limits memory only when the user has set the limit: it counts reserved memory too, so it would
 * end programs with address sanitizers under any limit that fits a machine.
 */
export function commandLimits(settings: LimitSettings, means: LimitMeans, join: string | null): CommandLimits {
  const { maxProcesses, maxMemoryMb } = settings;
  const isGrouped = (name: Controller) => join !== null && means.controllers.includes(name);
  return {
    join,
    processes: isGrouped('pids') || !means.countsPerCommand ? null : maxProcesses,
    dataMb: isGrouped('memory') || maxMemoryMb === 0 ? null : maxMemoryMb,
  };
}

/** What holds on this machine, in one line. */
export function limitsText(settings: LimitSettings, means: LimitMeans, machineMb: number): string {
  const limits = [processesText(settings, means), memoryText(settings, means, machineMb)];
  return `${limits.join(', ')}${means.obstacle === null ? '' : ` (${means.obstacle})`}`;
}

function processesText({ maxProcesses }: LimitSettings, { controllers, countsPerCommand }: LimitMeans): string {
  if (maxProcesses !== null && controllers.includes('pids')) return `${maxProcesses} processes per run`;
  if (maxProcesses !== null && countsPerCommand) return `${maxProcesses} processes per command`;
  return 'any number of processes';
}

function memoryText(settings: LimitSettings, { controllers }: LimitMeans, machineMb: number): string {
  const limitMb = memoryLimitMb(settings, machineMb);
  if (limitMb !== null && controllers.includes('memory')) return `${limitMb} MB of memory per run`;
  if (limitMb !== null && settings.maxMemoryMb !== null) return `${limitMb} MB of memory per process`;
  return 'any memory';
}

/** Since 5.14 the limit counts the processes of a user namespace. Before, it counted all processes of the account. */
export function countsByNamespace(kernel: string): boolean {
  const [major = 0, minor = 0] = kernel.split('.').map(Number);
  return major > 5 || (major === 5 && minor >= 14);
}

/** Changes nothing, so it works for `check` too. */
export async function findLimitMeans(containment: Containment): Promise<LimitMeans> {
  const group = await findDelegatedGroup();
  return {
    controllers: typeof group === 'string' ? [] : group.controllers,
    obstacle: typeof group === 'string' ? group : null,
    countsPerCommand: countsPerCommand(containment),
  };
}

function countsPerCommand(containment: Containment): boolean {
  return containment.kind === 'pidns' && containment.userNamespace && countsByNamespace(release());
}

/** Called with a constant text and its fields. */
type Warn = (message: string, fields: { readonly [key: string]: unknown }) => void;

interface LimitedRun {
  readonly settings: LimitSettings;
  readonly limits: CommandLimits;
  hasStarted: boolean;
}

/** The limits of the active runs. No method throws, because a run without a limit is better than none. */
export class RunLimits implements LimitsOfRuns {
  readonly #runs = new Map<string, LimitedRun>();

  private constructor(
    readonly means: LimitMeans,
    private readonly groups: ControlGroups | null,
    private readonly warn: Warn,
  ) {}

  /** Takes over the control group of the daemon, if there is one. */
  static async open(containment: Containment, warn: Warn): Promise<RunLimits> {
    const found = await findDelegatedGroup();
    let groups: ControlGroups | null = null;
    let obstacle = typeof found === 'string' ? found : null;
    try {
      if (typeof found !== 'string') groups = await ControlGroups.takeOver(found);
    } catch (error) {
      obstacle = `its control group cannot be divided: ${toBatonError(error).message}`;
    }
    const means = {
      controllers: groups?.controllers ?? [],
      obstacle,
      countsPerCommand: countsPerCommand(containment),
    };
    return new RunLimits(means, groups, warn);
  }

  /** What runs must not see: a program that can write these files can leave its group. */
  get hide(): readonly HiddenDirectory[] {
    return this.groups?.hide ?? [];
  }

  async begin(marker: string, settings: LimitSettings): Promise<void> {
    const { maxProcesses: processes, cpuWeight } = settings;
    const memoryMb = memoryLimitMb(settings, machineMemoryMb());
    const join = await this.groups
      ?.create(marker, { processes, memoryMb, cpuWeight })
      .catch((error: unknown) => this.#warnOfMissing(marker, toBatonError(error).message));
    this.#runs.set(marker, { settings, limits: commandLimits(settings, this.means, join ?? null), hasStarted: false });
  }

  of(marker: string): CommandLimits | null {
    const run = this.#runs.get(marker);
    if (!run) return null;
    run.hasStarted = true;
    return run.limits;
  }

  async end(marker: string): Promise<ReachedLimit | null> {
    const run = this.#runs.get(marker);
    this.#runs.delete(marker);
    if (!run || run.limits.join === null || this.groups === null) return null;
    try {
      const events = await this.groups.remove(marker);
      if (run.hasStarted && !events.hadProcesses) this.#warnOfMissing(marker, 'its processes did not join the group');
      const reached = reachedLimit(events, run.settings);
      if (reached) this.warn('a run has reached a limit', { marker, ...reached });
      return reached;
    } catch (error) {
      this.warn('the control group of a run could not be removed', { marker, detail: toBatonError(error).message });
      return null;
    }
  }

  #warnOfMissing(marker: string, detail: string): void {
    this.warn('the limits of a run could not be applied', { marker, detail });
  }
}

export function reachedLimit({ killed, refused }: GroupEvents, settings: LimitSettings): ReachedLimit | null {
  if (killed > 0) {
    const limit = `runtime.max_memory_mb (${memoryLimitMb(settings, machineMemoryMb())} MB)`;
    const detail = `the kernel ended ${killed} of its processes because the run reached ${limit}`;
    return { code: 'memory_exceeded', detail };
  }
  if (refused === 0) return null;
  const limit = `runtime.max_processes (${settings.maxProcesses})`;
  return { code: 'processes_exceeded', detail: `the run could not start more processes because it reached ${limit}` };
}

/** A limit explains a failure that counts for its issue only. Other outcomes stay. */
export function explainedBy(reached: ReachedLimit | null, outcome: Outcome): Outcome {
  if (reached === null || outcome.state !== 'failed' || scopeOf(outcome.error.code) !== 'issue') return outcome;
  const { code, detail } = reached;
  return failure(code, `${outcome.error.message}; ${detail}`, { meta: outcome.meta });
}
