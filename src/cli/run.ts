import { homedir } from 'node:os';
import { startDaemon } from '../daemon.js';
import { createLogger, type LogLevel } from '../logging/logger.js';
import { createRedactor } from '../logging/redact.js';
import { defaultStateDir, openStateDir } from '../state-dir.js';
import { ADAPTERS } from '../tracker/adapters.js';
import { createTrackerRegistry } from '../tracker/registry.js';
import { loadWorkflow } from '../workflow/load-workflow.js';
import { workflowKey } from '../workflow/workspace-root.js';

export interface RunOptions {
  readonly workflowPath: string;
  readonly stateDir: string | undefined;
  readonly logLevel: LogLevel;
  readonly logFile: string | undefined;
  readonly version: string;
}

/** Runs the daemon until it is told to stop; the exit code. A second signal ends it at once. */
export async function run({ workflowPath, logLevel, logFile, version, ...options }: RunOptions): Promise<number> {
  const env = { ...process.env };
  const homeDir = homedir();
  const trackers = createTrackerRegistry(ADAPTERS);
  const trackerKinds = new Map(trackers.kinds.map((kind) => [kind, trackers.entry(kind).defaults]));
  const loaded = await loadWorkflow(workflowPath, { env, homeDir, trackerKinds });
  const key = await workflowKey(loaded.workflow.path);
  const stateDir = await openStateDir(options.stateDir ?? defaultStateDir(key, env, homeDir));
  const redactor = createRedactor();
  const log = createLogger({ level: logLevel, redactor, file: logFile === undefined ? null : { path: logFile } });
  const daemon = await startDaemon({ loaded, stateDir, trackers, log, redactor, env, homeDir, version });
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) {
    process.on(signal, () => daemon.dispatch({ type: 'shutdown_requested' }));
  }
  process.on('uncaughtException', (error) => {
    // Whatever state we are in cannot be trusted; what is stored can, and our children end with us.
    log.fatal({ err: error }, 'internal error, ending to recover at the next start');
    process.exit(1);
  });
  return daemon.exited;
}
