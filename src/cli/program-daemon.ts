import { type Command, Option } from 'commander';
import type { DaemonTarget } from './client.js';
import { collect, type ProgramContext } from './program-context.js';

/** The commands that watch or steer a running daemon. */
export function addDaemonCommands(context: ProgramContext): void {
  addStatus(context);
  addLogs(context);
  addExplain(context);
  addAnswer(context);
  addMessage(context);
  addIssueAction(context, 'stop', 'end the run of an issue, or prevent its start, until it is retried');
  addIssueAction(context, 'retry', 'start a parked, waiting or stopping issue again, with a new budget');
  addDaemonAction(context, 'pause', 'start no new run, also after a restart; running ones continue');
  addDaemonAction(context, 'resume', 'start new runs again after a pause');
  addRefresh(context);
  addOpen(context);
  addAllow(context);
}

const ISSUE = 'its identifier';
const EXIT_CODES = '\nExit codes: 0 done, 1 refused or failed, 2 usage, or no daemon is running.';

const STATUS_CODES = `
Exit codes: 0 a daemon is running, 1 no daemon is running, 2 usage, or there is no such workflow. Without a daemon the stored state is
shown; --json then prints only the reason, and baton state export prints the stored state.`;

function addStatus({ program, io, done }: ProgramContext): void {
  const command = program.command('status');
  withWorkflow(command)
    .description(
      'show what needs you, what runs, what comes next and why nothing happens; in a folder without a workflow: all your daemons',
    )
    .option('--all', 'show every entry of every list')
    .addOption(new Option('--watch', 'keep the output up to date until Ctrl-C').conflicts('json'))
    .option('--json', 'print the state as JSON, like GET /api/v1/state')
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

function addLogs({ program, io, done }: ProgramContext): void {
  const command = program.command('logs').argument('<issue>', ISSUE);
  withWorkflow(command)
    .description('print the log of the newest run of an issue; works without a daemon, too')
    .addOption(new Option('-f, --follow', 'print new lines, run after run, until Ctrl-C').conflicts(['run', 'raw']))
    .addOption(new Option('--run <run>', 'another run: its number or its id').conflicts('all'))
    .option('--all', 'all runs, the oldest first')
    .option('--raw', 'the transcript as it is: JSON lines')
    .addHelpText('after', '\nExit codes: 0 printed, 1 unknown issue or run, 2 usage, or there is no such workflow.')
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

function addExplain({ program, io, done }: ProgramContext): void {
  const command = program.command('explain').argument('<issue>', ISSUE);
  withWorkflow(command)
    .description('print every rule that prevents an issue from running, and what to do; works without a daemon, too')
    .option('--json', 'print the rules as JSON')
    .addHelpText('after', '\nExit codes: 0 printed, 1 there is no such issue, 2 usage or settings.')
    .action(async (issue: string, workflow: string | undefined, flags: TargetFlags & { readonly json?: boolean }) => {
      const target = targetOf(workflow, flags, command);
      const { explain } = await import('./explain.js');
      done(await explain({ issue, json: flags.json ?? false, target }, io));
    });
}

function addAnswer({ program, io, done }: ProgramContext): void {
  withTarget(program.command('answer'))
    .description('answer the question of an agent, now or hours later; without an issue: list all open questions')
    .argument('[issue]', ISSUE)
    .argument('[text...]', 'the answer to a question with one field; yes or no')
    .option('--accept', 'yes')
    .addOption(new Option('--decline', 'no; the agent continues without it').conflicts(['accept', 'field']))
    .addOption(
      new Option('--field <id=value>', 'the value of a field; may be repeated').argParser(collect).conflicts('accept'),
    )
    .option('--question <id>', 'the question, if several are open')
    .addHelpText(
      'after',
      `\nOn a terminal, without an answer, it shows the question and prompts for one.\n${EXIT_CODES}`,
    )
    .action(async (issue: string | undefined, words: readonly string[], flags: AnswerFlags) => {
      const { answer } = await import('./answer.js');
      const { workflow, stateDir, accept = false, decline = false, field: fields = [], question } = flags;
      const given = { text: words.length === 0 ? undefined : words.join(' '), accept, decline, fields };
      done(await answer({ issue, given, question, target: { workflow, stateDir } }, io));
    });
}

interface AnswerFlags extends TargetFlags {
  readonly accept?: boolean;
  readonly decline?: boolean;
  readonly field?: readonly string[];
  readonly question?: string;
}

function addMessage({ program, io, done }: ProgramContext): void {
  withTarget(program.command('message'))
    .description('send a message to the agent of an issue; it receives it during its turn')
    .argument('<issue>', ISSUE)
    .argument('<text...>', 'the message; - reads it from standard input')
    .addHelpText('after', EXIT_CODES)
    .action(async (issue: string, words: readonly string[], target: TargetFlags) => {
      const { message } = await import('./control.js');
      done(await message({ issue, words, target }, io));
    });
}

function addIssueAction({ program, io, done }: ProgramContext, action: 'stop' | 'retry', description: string): void {
  const command = program.command(action).argument('<issue>', ISSUE);
  withWorkflow(command)
    .description(description)
    .addHelpText('after', EXIT_CODES)
    .action(async (issue: string, workflow: string | undefined, flags: TargetFlags) => {
      const target = targetOf(workflow, flags, command);
      const { change } = await import('./control.js');
      done(await change({ issue, action, target }, io));
    });
}

function addDaemonAction({ program, io, done }: ProgramContext, action: 'pause' | 'resume', description: string): void {
  const command = program.command(action);
  withWorkflow(command)
    .description(description)
    .addHelpText('after', EXIT_CODES)
    .action(async (workflow: string | undefined, flags: TargetFlags) => {
      const target = targetOf(workflow, flags, command);
      const { change } = await import('./control.js');
      done(await change({ issue: null, action, target }, io));
    });
}

function addRefresh({ program, io, done }: ProgramContext): void {
  const command = program.command('refresh');
  withWorkflow(command)
    .description('make the daemon read the tracker now instead of at its next poll')
    .addHelpText('after', EXIT_CODES)
    .action(async (workflow: string | undefined, flags: TargetFlags) => {
      const target = targetOf(workflow, flags, command);
      const { refresh } = await import('./control.js');
      done(await refresh(target, io));
    });
}

function addOpen({ program, io, done }: ProgramContext): void {
  const command = program.command('open');
  withWorkflow(command)
    .description('print the URL of the page, with the token that allows changes, and open it in a browser')
    .option('--print', 'only print it')
    .addHelpText('after', EXIT_CODES)
    .action(async (workflow: string | undefined, flags: TargetFlags & { readonly print?: boolean }) => {
      const target = targetOf(workflow, flags, command);
      const { open } = await import('./open.js');
      done(await open({ ...target, print: flags.print ?? false }, io));
    });
}

function addAllow({ program, io, done }: ProgramContext): void {
  const command = program.command('allow');
  withWorkflow(command)
    .description('show the changes of WORKFLOW.md that wait for a person, and let them take effect')
    .option('-y, --yes', 'allow them without asking')
    .addHelpText(
      'after',
      `
A change of what runs or what is allowed (hooks, commands, steps, sandbox, trust, tokens and the like) is held until then, because an
agent's branch may be what is checked out. Other changes apply at once.

Exit codes: 0 allowed, or nothing to allow; 1 not allowed, or the file changed meanwhile; 2 usage, settings, or nobody to ask.`,
    )
    .action(async (workflow: string | undefined, flags: TargetFlags & { readonly yes?: boolean }) => {
      const target = targetOf(workflow, flags, command);
      const { allow } = await import('./allow.js');
      done(await allow({ target, yes: flags.yes ?? false }, io));
    });
}

interface TargetFlags {
  readonly workflow?: string;
  readonly stateDir?: string;
}

function withTarget(command: Command): Command {
  return command
    .option('--workflow <file>', 'the workflow file of the daemon (default: WORKFLOW.md)')
    .option('--state-dir <dir>', 'the state directory of the daemon, if it is not the default one');
}

/** Also takes the workflow as the last argument, for commands without free text. */
function withWorkflow(command: Command): Command {
  return withTarget(command.argument('[workflow]', 'the same as --workflow'));
}

function targetOf(argument: string | undefined, flags: TargetFlags, command: Command): DaemonTarget {
  const { workflow, stateDir } = flags;
  if (argument !== undefined && workflow !== undefined && argument !== workflow)
    command.error(`error: name one workflow, not both '${argument}' and --workflow '${workflow}'`);
  return { workflow: workflow ?? argument, stateDir };
}
