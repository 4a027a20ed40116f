import { type Command, Option } from 'commander';
import type { Io } from '../io.js';

/** The commands that look at a running daemon. What they do is loaded when they are called. */
export function addWatching(program: Command, io: Io, done: (code: number) => void): void {
  addStatus(program, io, done);
  addLogs(program, io, done);
  addOpen(program, io, done);
  addRefresh(program, io, done);
}

const WORKFLOW = 'the workflow file (default: WORKFLOW.md)';
const STATE_DIR = ['--state-dir <dir>', 'the state directory of the daemon, where it is not the default one'] as const;

function addStatus(program: Command, io: Io, done: (code: number) => void): void {
  program
    .command('status')
    .description(
      'show what needs you, what runs, what comes next and why nothing happens; in a folder without a workflow: all your daemons',
    )
    .argument('[workflow]', WORKFLOW)
    .option(...STATE_DIR)
    .option('--all', 'every entry of every list')
    .addOption(new Option('--watch', 'go on showing it, until Ctrl-C').conflicts('json'))
    .option('--json', 'print the state as JSON, as GET /api/v1/state answers it')
    .addHelpText('after', '\nExit codes: 0 a daemon is running, 1 none is: then what is stored is shown.')
    .action(async (workflow: string | undefined, flags: StatusFlags) => {
      const [{ status }, { invocation }] = await Promise.all([import('./status.js'), import('../invocation.js')]);
      const { all = false, watch = false, json = false, stateDir } = flags;
      const command = invocation(process.argv, io.cwd);
      done(await status({ workflow, stateDir, all, watch, json, command }, io));
    });
}

interface StatusFlags {
  readonly stateDir?: string;
  readonly all?: boolean;
  readonly watch?: boolean;
  readonly json?: boolean;
}

function addLogs(program: Command, io: Io, done: (code: number) => void): void {
  program
    .command('logs')
    .description('print what happened in the newest run of an issue; works without a daemon, too')
    .argument('<issue>', 'its identifier')
    .argument('[workflow]', WORKFLOW)
    .addOption(
      new Option('-f, --follow', 'go on with what happens, run after run, until Ctrl-C').conflicts(['run', 'raw']),
    )
    .addOption(new Option('--run <run>', 'another run: its number, or its id').conflicts('all'))
    .option('--all', 'all runs, the oldest first')
    .option('--raw', 'the transcript as it is: JSON lines')
    .option(...STATE_DIR)
    .action(async (issue: string, workflow: string | undefined, flags: LogsFlags) => {
      const { logs } = await import('../logs/logs.js');
      const { follow = false, all = false, raw = false, run, stateDir } = flags;
      done(await logs({ issue, workflow, stateDir, follow, all, raw, run }, io));
    });
}

interface LogsFlags {
  readonly follow?: boolean;
  readonly run?: string;
  readonly all?: boolean;
  readonly raw?: boolean;
  readonly stateDir?: string;
}

function addOpen(program: Command, io: Io, done: (code: number) => void): void {
  program
    .command('open')
    .description('print the URL of the page, with the token that lets it change things, and open it in a browser')
    .argument('[workflow]', WORKFLOW)
    .option('--print', 'only print it')
    .option(...STATE_DIR)
    .action(async (workflow: string | undefined, flags: { readonly print?: boolean; readonly stateDir?: string }) => {
      const { open } = await import('../open/open.js');
      const { print = false, stateDir } = flags;
      done(await open({ workflow, stateDir, print }, io));
    });
}

function addRefresh(program: Command, io: Io, done: (code: number) => void): void {
  program
    .command('refresh')
    .description('let the daemon read the tracker now instead of at its next poll')
    .argument('[workflow]', WORKFLOW)
    .option(...STATE_DIR)
    .action(async (workflow: string | undefined, { stateDir }: { readonly stateDir?: string }) => {
      const { refresh } = await import('./refresh.js');
      done(await refresh({ workflow, stateDir }, io));
    });
}
