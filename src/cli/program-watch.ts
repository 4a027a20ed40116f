import { type Command, Option } from 'commander';
import { type TargetFlags, targetOf, withWorkflow } from './client/target-options.js';
import type { Io } from './io.js';

/** The commands that look at a running daemon. What they do is loaded when they are called. */
export function addWatching(program: Command, io: Io, done: (code: number) => void): void {
  addStatus(program, io, done);
  addLogs(program, io, done);
  addOpen(program, io, done);
  addRefresh(program, io, done);
}

const STATUS_CODES = `
Exit codes: 0 a daemon is running, 1 none is, 2 usage, or there is no such workflow. Without a daemon what is stored is shown; with
--json only the reason is, and baton state export prints what is stored.`;

function addStatus(program: Command, io: Io, done: (code: number) => void): void {
  const command = program.command('status');
  withWorkflow(command)
    .description(
      'show what needs you, what runs, what comes next and why nothing happens; in a folder without a workflow: all your daemons',
    )
    .option('--all', 'every entry of every list')
    .addOption(new Option('--watch', 'go on showing it, until Ctrl-C').conflicts('json'))
    .option('--json', 'print the state as JSON, as GET /api/v1/state answers it')
    .addHelpText('after', STATUS_CODES)
    .action(async (workflow: string | undefined, flags: StatusFlags) => {
      const target = targetOf(workflow, flags, command);
      const { status } = await import('./status.js');
      const { all = false, watch = false, json = false } = flags;
      done(await status({ ...target, all, watch, json }, io));
    });
}

interface StatusFlags extends TargetFlags {
  readonly all?: boolean;
  readonly watch?: boolean;
  readonly json?: boolean;
}

function addLogs(program: Command, io: Io, done: (code: number) => void): void {
  const command = program.command('logs').argument('<issue>', 'its identifier');
  withWorkflow(command)
    .description('print what happened in the newest run of an issue; works without a daemon, too')
    .addOption(
      new Option('-f, --follow', 'go on with what happens, run after run, until Ctrl-C').conflicts(['run', 'raw']),
    )
    .addOption(new Option('--run <run>', 'another run: its number, or its id').conflicts('all'))
    .option('--all', 'all runs, the oldest first')
    .option('--raw', 'the transcript as it is: JSON lines')
    .addHelpText('after', '\nExit codes: 0 told, 1 nothing is known of it, 2 usage, or there is no such workflow.')
    .action(async (issue: string, workflow: string | undefined, flags: LogsFlags) => {
      const target = targetOf(workflow, flags, command);
      const { logs } = await import('./logs.js');
      const { follow = false, all = false, raw = false, run } = flags;
      done(await logs({ ...target, issue, follow, all, raw, run }, io));
    });
}

interface LogsFlags extends TargetFlags {
  readonly follow?: boolean;
  readonly run?: string;
  readonly all?: boolean;
  readonly raw?: boolean;
}

const ASKED_CODES = '\nExit codes: 0 done, 1 refused or failed, 2 usage, or no daemon is running.';

function addOpen(program: Command, io: Io, done: (code: number) => void): void {
  const command = program.command('open');
  withWorkflow(command)
    .description('print the URL of the page, with the token that lets it change things, and open it in a browser')
    .option('--print', 'only print it')
    .addHelpText('after', ASKED_CODES)
    .action(async (workflow: string | undefined, flags: TargetFlags & { readonly print?: boolean }) => {
      const target = targetOf(workflow, flags, command);
      const { open } = await import('./open.js');
      done(await open({ ...target, print: flags.print ?? false }, io));
    });
}

function addRefresh(program: Command, io: Io, done: (code: number) => void): void {
  const command = program.command('refresh');
  withWorkflow(command)
    .description('let the daemon read the tracker now instead of at its next poll')
    .addHelpText('after', ASKED_CODES)
    .action(async (workflow: string | undefined, flags: TargetFlags) => {
      const target = targetOf(workflow, flags, command);
      const { refresh } = await import('./status/refresh.js');
      done(await refresh(target, io));
    });
}
