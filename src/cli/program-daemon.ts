import { type Command, Option } from 'commander';
import type { DaemonTarget } from './client.js';
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
      const { refresh } = await import('./control.js');
      done(await refresh(target, io));
    });
}

/** The commands that ask a running daemon for something, and the one that tells why an issue does not run. Loaded when they are called. */
export function addControl(program: Command, io: Io, done: (code: number) => void): void {
  addExplain(program, io, done);
  addChange(program, io, done, 'stop', 'end the run of an issue, or keep it from being started, until it is retried');
  addChange(program, io, done, 'retry', 'start an issue again: parked, waiting or being stopped; with a new budget');
  addAnswer(program, io, done);
  addMessage(program, io, done);
  addSwitch(program, io, done, 'pause', 'start nothing new, also after a restart; what runs goes on');
  addSwitch(program, io, done, 'resume', 'start new work again after a pause');
}

const ISSUE = 'its identifier';
const EXIT_CODES = '\nExit codes: 0 done, 1 refused or failed, 2 usage, or no daemon is running.';

function addExplain(program: Command, io: Io, done: (code: number) => void): void {
  const command = program.command('explain').argument('<issue>', ISSUE);
  withWorkflow(command)
    .description(
      'tell every rule that keeps an issue from running, and what to do about it; works without a daemon, too',
    )
    .option('--json', 'print the rules as JSON')
    .addHelpText('after', '\nExit codes: 0 told, 1 there is no such issue, 2 usage or settings.')
    .action(async (issue: string, workflow: string | undefined, flags: TargetFlags & { readonly json?: boolean }) => {
      const target = targetOf(workflow, flags, command);
      const { explain } = await import('./explain.js');
      done(await explain({ issue, json: flags.json ?? false, target }, io));
    });
}

function addChange(
  program: Command,
  io: Io,
  done: (code: number) => void,
  name: 'stop' | 'retry',
  description: string,
): void {
  const command = program.command(name).argument('<issue>', ISSUE);
  withWorkflow(command)
    .description(description)
    .addHelpText('after', EXIT_CODES)
    .action(async (issue: string, workflow: string | undefined, flags: TargetFlags) => {
      const target = targetOf(workflow, flags, command);
      const { change } = await import('./control.js');
      done(await change({ issue, action: name, target }, io));
    });
}

function addSwitch(
  program: Command,
  io: Io,
  done: (code: number) => void,
  name: 'pause' | 'resume',
  description: string,
): void {
  const command = program.command(name);
  withWorkflow(command)
    .description(description)
    .addHelpText('after', EXIT_CODES)
    .action(async (workflow: string | undefined, flags: TargetFlags) => {
      const target = targetOf(workflow, flags, command);
      const { change } = await import('./control.js');
      done(await change({ issue: null, action: name, target }, io));
    });
}

function addMessage(program: Command, io: Io, done: (code: number) => void): void {
  withTarget(program.command('message'))
    .description('say something to the agent that works on an issue; it hears it in its turn')
    .argument('<issue>', ISSUE)
    .argument('<text...>', 'what to say; - reads it from standard input')
    .addHelpText('after', EXIT_CODES)
    .action(async (issue: string, words: readonly string[], target: TargetFlags) => {
      const { message } = await import('./control.js');
      done(await message({ issue, words, target }, io));
    });
}

function addAnswer(program: Command, io: Io, done: (code: number) => void): void {
  withTarget(program.command('answer'))
    .description('answer what an agent asks, now or hours later; without an issue: list what is asked')
    .argument('[issue]', ISSUE)
    .argument('[text...]', 'the answer to a question that has one blank; yes or no')
    .option('--accept', 'yes')
    .addOption(new Option('--decline', 'no; the agent goes on without').conflicts(['accept', 'field']))
    .addOption(
      new Option('--field <id=value>', 'fill in a blank; may be given several times')
        .argParser((text: string, before: readonly string[] = []) => [...before, text])
        .conflicts('accept'),
    )
    .option('--question <id>', 'which one, where several are open')
    .addHelpText('after', `\nOn a terminal, without an answer, it shows the question and asks you.\n${EXIT_CODES}`)
    .action(async (issue: string | undefined, words: readonly string[], flags: AnswerFlags) => {
      const { answer } = await import('./answer.js');
      const { workflow, stateDir, accept = false, decline = false, field: fields = [], question } = flags;
      const given = { text: words.length === 0 ? undefined : words.join(' '), accept, decline, fields };
      const target = { workflow, stateDir };
      done(await answer({ issue, given, question, target }, io));
    });
}

interface AnswerFlags extends TargetFlags {
  readonly accept?: boolean;
  readonly decline?: boolean;
  readonly field?: readonly string[];
  readonly question?: string;
}

/** How a daemon is named on the command line. */
interface TargetFlags {
  readonly workflow?: string;
  readonly stateDir?: string;
}

/** For every command that is about a running daemon. */
function withTarget(command: Command): Command {
  return command
    .option('--workflow <file>', 'the workflow file of the daemon (default: WORKFLOW.md)')
    .option('--state-dir <dir>', 'the state directory of the daemon, where it is not the default one');
}

/** The same where no words of a person come last: the workflow may stand there without its flag. */
function withWorkflow(command: Command): Command {
  return withTarget(command.argument('[workflow]', 'the same as --workflow'));
}

/** Whom `argument` and the flags name; who names two is told so. */
function targetOf(argument: string | undefined, flags: TargetFlags, command: Command): DaemonTarget {
  const { workflow, stateDir } = flags;
  if (argument !== undefined && workflow !== undefined && argument !== workflow)
    command.error(`error: name one workflow, not both '${argument}' and --workflow '${workflow}'`);
  return { workflow: workflow ?? argument, stateDir };
}
