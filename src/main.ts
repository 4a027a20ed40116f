#!/usr/bin/env node
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import type { LogLevel } from './logging/logger.js';

const LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const satisfies LogLevel[];

const HELP = `baton [WORKFLOW.md]   turns issues into finished work, until it is stopped

  --state-dir DIR     where Baton keeps its state (default: below ~/.local/state/baton)
  --log-level LEVEL   ${LEVELS.join(', ')} (default: info)
  --log-file FILE     write the log there too, as JSON lines
  --version           print the version
  --help              print this
`;

/** 0 fine, 1 failed, 2 usage or settings. */
async function main(args: string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args,
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
  const logLevel = LEVELS.find((level) => level === values['log-level']);
  if (!logLevel) throw new Error(`--log-level must be one of ${LEVELS.join(', ')}, got "${values['log-level']}"`);
  const [workflowPath = 'WORKFLOW.md'] = positionals;
  // Only now: --help should not wait for all of the engine.
  const { run } = await import('./cli/run.js');
  return run({ workflowPath, stateDir: values['state-dir'], logLevel, logFile: values['log-file'], version });
}

function say(text: string): number {
  process.stdout.write(text);
  return 0;
}

function versionOfPackage(): string {
  const file = new URL('../../package.json', import.meta.url);
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version;
}

main(process.argv.slice(2)).then(
  (code) => process.exit(code),
  (error: Error & { code?: string }) => {
    const code = error.name === 'BatonError' ? `${error.code}: ` : '';
    process.stderr.write(`baton: ${code}${error.message}\n`);
    process.exit(2);
  },
);
