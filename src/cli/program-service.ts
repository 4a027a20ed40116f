import { type Command, InvalidArgumentError, Option } from 'commander';
import { BatonError } from '../domain/errors.js';
import type { LogLevel } from '../logging/logger.js';
import { printError } from './io.js';
import { LOG_LEVELS, type ProgramContext, parsePort } from './program-context.js';
import { isServiceName, type Scope } from './service/unit-text.js';

/** `baton service …`: Baton under systemd. */
export function addService(context: ProgramContext): void {
  const service = context.program.command('service').description('run Baton as a systemd service, in the background');
  addInstall(service, context);
  addUninstall(service, context);
  addStatus(service, context);
  addLogs(service, context);
}

function addInstall(service: Command, context: ProgramContext): void {
  const { io } = context;
  withTarget(service.command('install'))
    .description('write a systemd unit for a workflow and start it; prints what it does')
    .argument('[workflow]', 'the workflow file', 'WORKFLOW.md')
    .option('--run-as <user>', 'with --system: the user of the service (default: the user who called sudo)')
    .option('--state-dir <dir>', 'as for run')
    .option('--port <port>', 'as for run', parsePort)
    .addOption(new Option('--log-level <level>', 'as for run').choices(LOG_LEVELS))
    .option('--allow-changes', 'as for run')
    .option('--dry-run', 'only print what would be written and run')
    .action((workflowPath: string, { system, dryRun = false, ...flags }: InstallFlags) =>
      attempt(context, async () => {
        if (flags.runAs !== undefined && system !== true) service.error('error: --run-as requires --system');
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

function addUninstall(service: Command, context: ProgramContext): void {
  const { io } = context;
  withTarget(service.command('uninstall'))
    .description('stop a service and remove its unit; its state stays')
    .argument('[workflow]', 'the workflow file', 'WORKFLOW.md')
    .option('--dry-run', 'only print what would be removed and run')
    .action((workflowPath: string, { system, name, dryRun = false }: TargetFlags & { readonly dryRun?: boolean }) =>
      attempt(context, async () => {
        const [{ uninstallService }, { invocation }] = await Promise.all([
          import('./service/install.js'),
          import('./io.js'),
        ]);
        const command = invocation(process.argv, io.cwd);
        return uninstallService({ workflowPath, name, dryRun, command, scope: scopeOf(system) }, io);
      }),
    );
}

function addStatus(service: Command, context: ProgramContext): void {
  withTarget(service.command('status'))
    .description('print the state of a service; without name and workflow, of all services')
    .argument('[workflow]', 'the workflow file')
    .action((workflowPath: string | undefined, { system, name }: TargetFlags) =>
      attempt(context, async () => {
        const { serviceStatus } = await import('./service/status.js');
        return serviceStatus({ workflowPath, name, scope: scopeOf(system) }, context.io);
      }),
    );
}

function addLogs(service: Command, context: ProgramContext): void {
  withTarget(service.command('logs'))
    .description('print the log of a service')
    .argument('[workflow]', 'the workflow file', 'WORKFLOW.md')
    .option('-f, --follow', 'also print new lines')
    .option('-n, --lines <count>', 'how many past lines', parseCount, 100)
    .action((workflowPath: string, { system, name, follow = false, lines }: LogFlags) =>
      attempt(context, async () => {
        const { serviceLogs } = await import('./service/status.js');
        return serviceLogs({ workflowPath, name, follow, lines, scope: scopeOf(system) }, context.io);
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
  readonly allowChanges?: boolean;
  readonly dryRun?: boolean;
}

function withTarget(command: Command): Command {
  return command
    .option('--name <name>', 'the name of the service: baton-<name> (default: the folder of the workflow)', parseName)
    .option('--system', 'a service of the machine (/etc/systemd/system) instead of your own');
}

function scopeOf(system: boolean | undefined): Scope {
  return system === true ? 'system' : 'user';
}

/** Exit code 1 for `service_failed`; usage and workflow errors exit with 2 as everywhere. */
async function attempt({ io, done }: ProgramContext, act: () => Promise<number>): Promise<void> {
  try {
    done(await act());
  } catch (error) {
    if (!(error instanceof BatonError && error.code === 'service_failed')) throw error;
    done(printError(error, 1, io));
  }
}

function parseName(text: string): string {
  if (isServiceName(text)) return text;
  throw new InvalidArgumentError('It must consist of letters, digits, ".", "_" and "-", up to 48 of them.');
}

function parseCount(text: string): number {
  if (/^\d{1,6}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('It must be a number.');
}
