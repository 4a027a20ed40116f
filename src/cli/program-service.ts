import { type Command, InvalidArgumentError, Option } from 'commander';
import { BatonError } from '../domain/errors.js';
import type { LogLevel } from '../logging/logger.js';
import type { Io } from './io.js';
import { printError } from './io.js';
import { isServiceName, type Scope } from './service/unit-text.js';

const LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const satisfies LogLevel[];

/** `baton service …`: Baton under systemd. What a command does is loaded when it is called. */
export function addService(program: Command, io: Io, done: (code: number) => void): void {
  const service = program.command('service').description('run Baton as a systemd service, in the background');
  addInstall(service, io, done);
  addUninstall(service, io, done);
  withTarget(service.command('status'))
    .description('tell how a service is; without name and workflow, all of them')
    .argument('[workflow]', 'the workflow file')
    .action((workflowPath: string | undefined, { system, name }: TargetFlags) =>
      attempt(io, done, async () => {
        const { serviceStatus } = await import('./service/status.js');
        return serviceStatus({ workflowPath, name, scope: scopeOf(system) }, io);
      }),
    );
  withTarget(service.command('logs'))
    .description('print the log of a service')
    .argument('[workflow]', 'the workflow file', 'WORKFLOW.md')
    .option('-f, --follow', 'go on with what is logged from now on')
    .option('-n, --lines <count>', 'how many lines of the past', toCount, 100)
    .action((workflowPath: string, { system, name, follow = false, lines }: LogFlags) =>
      attempt(io, done, async () => {
        const { serviceLogs } = await import('./service/status.js');
        return serviceLogs({ workflowPath, name, follow, lines, scope: scopeOf(system) }, io);
      }),
    );
}

function addInstall(service: Command, io: Io, done: (code: number) => void): void {
  withTarget(service.command('install'))
    .description('write a systemd unit for a workflow and start it; shows what it does')
    .argument('[workflow]', 'the workflow file', 'WORKFLOW.md')
    .option('--run-as <user>', 'with --system: the user it runs as (default: whoever called sudo)')
    .option('--state-dir <dir>', 'as for run')
    .option('--port <port>', 'as for run', toPort)
    .addOption(new Option('--log-level <level>', 'as for run').choices(LEVELS))
    .option('--dry-run', 'print what would be written and run, and do nothing')
    .action((workflowPath: string, { system, dryRun = false, ...flags }: InstallFlags) =>
      attempt(io, done, async () => {
        if (flags.runAs !== undefined && system !== true) service.error('error: --run-as goes with --system');
        const [{ installService }, { invocation }] = await Promise.all([
          import('./service/install.js'),
          import('./io.js'),
        ]);
        const program = { node: process.execPath, script: process.argv[1] ?? '' };
        const command = invocation(process.argv, io.cwd);
        return installService({ workflowPath, dryRun, program, command, scope: scopeOf(system), ...flags }, io);
      }),
    );
}

function addUninstall(service: Command, io: Io, done: (code: number) => void): void {
  withTarget(service.command('uninstall'))
    .description('stop a service and remove its unit; its state stays')
    .argument('[workflow]', 'the workflow file', 'WORKFLOW.md')
    .option('--dry-run', 'print what would be removed and run, and do nothing')
    .action((workflowPath: string, { system, name, dryRun = false }: TargetFlags & { readonly dryRun?: boolean }) =>
      attempt(io, done, async () => {
        const [{ uninstallService }, { invocation }] = await Promise.all([
          import('./service/install.js'),
          import('./io.js'),
        ]);
        const command = invocation(process.argv, io.cwd);
        return uninstallService({ workflowPath, name, dryRun, command, scope: scopeOf(system) }, io);
      }),
    );
}

interface TargetFlags {
  readonly name?: string;
  readonly system?: boolean;
}

interface LogFlags extends TargetFlags {
  readonly follow?: boolean;
  readonly lines: number;
}

interface InstallFlags extends TargetFlags {
  readonly runAs?: string;
  readonly stateDir?: string;
  readonly port?: number;
  readonly logLevel?: LogLevel;
  readonly dryRun?: boolean;
}

function withTarget(command: Command): Command {
  return command
    .option('--name <name>', 'the name of the service: baton-<name> (default: by the folder of the workflow)', toName)
    .option('--system', 'a service of the machine (/etc/systemd/system), not one of your own');
}

function scopeOf(system: boolean | undefined): Scope {
  return system === true ? 'system' : 'user';
}

/** What is in the way of a service ends with 1; a wrong call and a wrong workflow with 2, as everywhere. */
async function attempt(io: Io, done: (code: number) => void, act: () => Promise<number>): Promise<void> {
  try {
    done(await act());
  } catch (error) {
    if (!(error instanceof BatonError && error.code === 'service_failed')) throw error;
    done(printError(error, 1, io));
  }
}

function toName(text: string): string {
  if (isServiceName(text)) return text;
  throw new InvalidArgumentError('It must be of letters, digits, ".", "_" and "-", up to 48 of them.');
}

function toCount(text: string): number {
  if (/^\d{1,6}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('It must be a number.');
}

function toPort(text: string): number {
  if (/^\d{1,5}$/.test(text) && Number(text) <= 65_535) return Number(text);
  throw new InvalidArgumentError('It must be a number from 0 to 65535.');
}
