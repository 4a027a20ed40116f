#!/usr/bin/env node
import { readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { parseArgs } from 'node:util';
import { startDaemon } from './daemon.js';
import { toBatonError } from './domain/errors.js';
import { createLogger, type LogLevel } from './logging/logger.js';
import { createRedactor } from './logging/redact.js';
import { defaultStateDir, openStateDir } from './state-dir.js';
import { createTrackerRegistry } from './tracker/registry.js';
import { loadWorkflow } from './workflow/load-workflow.js';
import { workflowKey } from './workflow/workspace-root.js';

const LEVELS: readonly string[] = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] satisfies LogLevel[];

const HELP = `baton [WORKFLOW.md]   turns issues into finished work, until it is stopped

  --state-dir DIR     where Baton keeps its state (default: below ~/.local/state/baton)
  --log-level LEVEL   ${LEVELS.join(', ')} (default: info)
  --log-file FILE     write the log there too, as JSON lines
  --version           print the version
  --help              print this
`;

/** 0 fine, 1 failed, 2 usage or settings. */
async function main(argv: string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args: argv,
    allowPositionals: true,
    options: {
      'state-dir': { type: 'string' },
      'log-level': { type: 'string', default: 'info' },
      'log-file': { type: 'string' },
      version: { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  if (values.help) return say(HELP);
  const version = versionOfPackage();
  if (values.version) return say(`${version}\n`);
  if (positionals.length > 1)
    throw new Error(`one WORKFLOW.md at a time, got ${positionals.length}: ${positionals.join(', ')}`);
  const level = values['log-level'];
  if (!isLevel(level)) throw new Error(`--log-level must be one of ${LEVELS.join(', ')}, got "${level}"`);

  const env = { ...process.env };
  const homeDir = homedir();
  const trackers = createTrackerRegistry([]);
  const trackerKinds = new Map(trackers.kinds.map((kind) => [kind, trackers.entry(kind).defaults]));
  const loaded = await loadWorkflow(positionals[0] ?? 'WORKFLOW.md', { env, homeDir, trackerKinds });
  const stateDir = await openStateDir(
    values['state-dir'] ?? defaultStateDir(await workflowKey(loaded.workflow.path), env, homeDir),
  );
  const redactor = createRedactor();
  const logFile = values['log-file'];
  const log = createLogger({ level, redactor, ...(logFile ? { file: { path: logFile } } : {}) });
  const daemon = await startDaemon({ loaded, stateDir, trackers, log, redactor, env, homeDir, version });
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.on(signal, () => daemon.dispatch({ type: 'shutdown_requested' }));
  }
  return daemon.exited;
}

function say(text: string): number {
  process.stdout.write(text);
  return 0;
}

function isLevel(level: string): level is LogLevel {
  return LEVELS.includes(level);
}

function versionOfPackage(): string {
  const file = new URL('../../package.json', import.meta.url);
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version;
}

main(process.argv.slice(2)).then(
  (code) => process.exit(code),
  (error: unknown) => {
    const { code, message } = toBatonError(error);
    const prefix = error instanceof Error && error.name === 'BatonError' ? `baton: ${code}\n` : 'baton: ';
    process.stderr.write(`${prefix}${message}\n`);
    process.exit(2);
  },
);
