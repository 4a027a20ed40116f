import type { Logger } from 'pino';
import { onceExitCode } from '../../orchestrator/once.js';
import { createClock } from '../clock.js';
import type { Daemon } from '../daemon/options.js';
import { createLogger, type LogLevel } from '../logging/logger.js';
import { createRedactor } from '../logging/redact.js';
import { defaultLockDir, openStateDir } from '../state-dir.js';
import { wrapIndented } from '../text/terminal-text.js';
import type { Io } from './io.js';
import { openWorkflow } from './open-workflow.js';
import { formatSummary, INDENT, RunPrinter } from './run-view.js';

export interface RunOptions {
  readonly workflowPath: string;
  readonly stateDir?: string | undefined;
  /** Default: `info`; with `--once` and `--issue`, which print the progress themselves, `error`. */
  readonly logLevel?: LogLevel | undefined;
  readonly logFile?: string | undefined;
  /** Overrides `server.port`. */
  readonly port?: number | undefined;
  /** For agent steps with `backend: auto`. */
  readonly backend?: string | undefined;
  readonly allowChanges?: boolean | undefined;
  readonly once: boolean;
  /** Work on this issue only, then exit. */
  readonly issue?: string | undefined;
  readonly version: string;
}

/** Runs the daemon until it is stopped, or until `--once` or `--issue` is done; the exit code. */
export async function run(options: RunOptions, io: Io): Promise<number> {
  const opened = await openWorkflow(options.workflowPath, options.stateDir, io, options);
  // Loaded late, so that a wrong path is reported without loading the engine.
  const { startDaemon } = await import('../daemon/daemon.js');
  const { issue = null, once, port, backend, allowChanges = false, version } = options;
  const isBounded = once || issue !== null;
  const redactor = createRedactor();
  const printer = isBounded ? new RunPrinter(io.stdout, redactor) : null;
  const log = createLogger({
    level: options.logLevel ?? (isBounded && options.logFile === undefined ? 'error' : 'info'),
    ...(isBounded && options.logLevel === undefined ? { streamLevel: 'error' } : {}),
    redactor,
    file: options.logFile === undefined ? null : { path: options.logFile },
  });
  const signals = handleSignals();
  endOnFault(log);
  const daemon = await startDaemon({
    ...opened,
    lockDir: defaultLockDir(io.env, io.homeDir),
    stateDir: await openStateDir(opened.stateDir),
    log,
    redactor,
    env: io.env,
    homeDir: io.homeDir,
    version,
    allowChanges,
    signal: signals.early,
    ...(port === undefined ? {} : { port }),
    ...(backend === undefined ? {} : { backend }),
    ...(printer ? { once: { only: issue }, observer: printer } : {}),
  });
  signals.stop(daemon);
  const code = await daemon.exited;
  if (!isBounded) return code;
  const clock = createClock();
  io.stdout.write(
    wrapIndented(redactor.mask(formatSummary(daemon.state, clock.now(), printer?.unpushed)), io.stdout.columns, INDENT),
  );
  clock.close();
  return code === 0 ? onceExitCode(daemon.state) : code;
}

/**
 * The first signal shuts the daemon down, the second one ends the process. Called before anything is opened: an early signal waits for the
 * daemon, because ending half-way would leave resources behind.
 */
export function handleSignals(): Signals {
  let daemon: Daemon | null = null;
  const early = new AbortController();
  const handle = () => {
    if (daemon) daemon.dispatch({ type: 'shutdown_requested' });
    else if (early.signal.aborted) process.exit(1);
    early.abort();
  };
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, handle);
  return {
    early: early.signal,
    stop(started) {
      daemon = started;
      if (early.signal.aborted) daemon.dispatch({ type: 'shutdown_requested' });
    },
  };
}

interface Signals {
  /** Aborted by the first signal. */
  readonly early: AbortSignal;
  /** From now on signals stop this daemon; an earlier signal stops it at once. */
  stop(daemon: Daemon): void;
}

/** After an internal error the stored state is the only one to trust; child processes end with this process. */
export function endOnFault(log: Logger): void {
  process.on('uncaughtException', (error) => {
    log.fatal({ err: error }, 'internal error, ending to recover at the next start');
    process.exit(1);
  });
}
