import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { Command, CommanderError, Help, InvalidArgumentError, Option } from 'commander';
import { nearestWord } from '../domain/nearest-word.js';
import type { LogLevel } from '../logging/logger.js';
import { type Io, processIo } from './io.js';
import { addControl, addWatching } from './program-daemon.js';
import { addService } from './program-service.js';
import { addCapability, addExecutor, addNotify, addRecover, addReport, addTracker } from './program-tools.js';

const LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const satisfies LogLevel[];

/** The exit code of the command that `argv` names. Throws `BatonError`. */
export async function runProgram(argv: readonly string[], version: string): Promise<number> {
  let exitCode = 0;
  const program = buildProgram(processIo(), version, (code) => {
    exitCode = code;
  });
  try {
    await program.parseAsync(argv);
    return exitCode;
  } catch (error) {
    // Commander has said what is wrong; for --help and --version nothing is.
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    throw error;
  }
}

/** Every command and flag. What a command does is loaded when it is called: --help should not wait for the engine. */
function buildProgram(io: Io, version: string, done: (code: number) => void): Command {
  const program = new Command('baton');
  program
    .description('Turns issues into finished work: a workspace and a coding agent for each, until it is done.')
    .version(version, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print this')
    .exitOverride()
    .showHelpAfterError('(baton --help lists commands and flags)')
    .configureOutput({ writeOut: (text) => io.stdout.write(text), writeErr: (text) => io.stderr.write(text) });
  describeHelp(program);
  addRun(program, io, version, done);
  addDemo(program, io, version, done);
  addInit(program, io, done);
  addCheck(program, io, done);
  addWatching(program, io, done);
  addControl(program, io, done);
  addService(program, io, done);
  addReport(program, io, done);
  addNotify(program, io, done);
  addRender(program, io, done);
  addState(program, io, done);
  addRecover(program, io, done);
  addExecutor(program, io, done);
  addTracker(program, io, done);
  addCapability(program, io, done);
  groupCommands(program);
  return program;
}

function addRun(program: Command, io: Io, version: string, done: (code: number) => void): void {
  program
    .command('run', { isDefault: true })
    .description('work on issues until stopped; the default command')
    .argument('[workflow]', 'the workflow file', 'WORKFLOW.md')
    // Looked at below: whoever types `baton chekc x.md` should hear of the command, not of the arguments of run.
    .allowExcessArguments()
    .option('--once', 'give every eligible issue one run, then exit')
    .option('--issue <id>', 'work on this one issue in the foreground, then exit', toName)
    .addOption(
      new Option('--dry-run', 'print what would start and why the rest would not; start nothing').conflicts('issue'),
    )
    .option('--state-dir <dir>', 'where Baton keeps its state (default: below ~/.local/state/baton)')
    .addOption(new Option('--log-level <level>', 'how much to log').choices(LEVELS))
    .option('--log-file <file>', 'write the log there too, as JSON lines')
    .option('--backend <backend>', 'what agent steps with `backend: auto` run on: http, cli or auto')
    .option('--port <port>', 'serve the page and the API on this port of 127.0.0.1; 0: any free one', toPort)
    .action(async (workflowPath: string, flags: RunFlags, command: Command) => {
      refuseUnknownCommand(program, workflowPath, io);
      const [, excess] = command.args;
      if (excess !== undefined) program.error(`error: run takes one workflow file; what is '${excess}'?`);
      const { once = false, dryRun: isDry = false, ...rest } = flags;
      if (isDry) {
        const { dryRun } = await import('./dry-run.js');
        return done(await dryRun({ workflowPath, stateDir: rest.stateDir, backend: rest.backend }, io));
      }
      const { run } = await import('./run.js');
      done(await run({ workflowPath, once, version, ...rest }, io));
    });
}

/** `baton chekc` names neither a command nor a file, and means the former. */
function refuseUnknownCommand(program: Command, word: string, io: Io): void {
  const names = program.commands.map((command) => command.name());
  if (!/^[a-z]+$/i.test(word) || existsSync(resolve(io.cwd, word))) return;
  const near = names.includes(word) ? null : nearestWord(word, names);
  const meant = near === null ? '' : `\n(Did you mean ${near}?)`;
  program.error(`error: there is neither a command nor a file '${word}'${meant}`);
}

interface RunFlags {
  readonly once?: boolean;
  readonly issue?: string;
  readonly dryRun?: boolean;
  readonly stateDir?: string;
  readonly logLevel?: LogLevel;
  readonly logFile?: string;
  readonly port?: number;
  readonly backend?: string;
}

function addDemo(program: Command, io: Io, version: string, done: (code: number) => void): void {
  program
    .command('demo')
    .description('make a folder with sample issues and work on them until all are done')
    .argument('[folder]', 'where to make it', 'baton-demo')
    .addOption(new Option('--agent <agent>', 'who does the work').choices(['demo', 'codex']).default('demo'))
    .action(async (folder: string, { agent }: { readonly agent: 'demo' | 'codex' }) => {
      const { demo } = await import('./demo.js');
      done(await demo({ folder, agent, version }, io));
    });
}

function addInit(program: Command, io: Io, done: (code: number) => void): void {
  program
    .command('init')
    .description('write a WORKFLOW.md for a repository, and a first issue; never overwrites anything')
    .argument('[folder]', 'the folder of the repository', '.')
    .option('--tracker <kind>', 'where issues come from: local, linear, github, gitlab, jira, redmine or command')
    .option('--project <address>', 'which project of the tracker: the address of its page, or owner/name')
    .option('--agent <agent>', 'who does the work: codex or demo')
    .option('--label <label>', 'the label without which no issue is started')
    .option('--repo-url <url>', 'what each workspace is cloned from; none: nothing is cloned')
    .option('--base-branch <branch>', 'where the branches of issues begin')
    .option('--steps', 'a workflow of several steps instead of one agent: docs/executors.md')
    .option('-y, --yes', 'take every proposal without asking')
    .action(async (dir: string, { yes = false, ...flags }: InitFlags) => {
      const [{ init }, { invocation }, { demoAgentCommand }] = await Promise.all([
        import('./init.js'),
        import('./io.js'),
        import('../demo/demo-agent-command.js'),
      ]);
      const command = invocation(process.argv, io.cwd);
      done(await init({ dir, yes, command, demoAgentCommand: demoAgentCommand(io.env), ...flags }, io));
    });
}

interface InitFlags {
  readonly tracker?: string;
  readonly project?: string;
  readonly agent?: string;
  readonly label?: string;
  readonly repoUrl?: string;
  readonly baseBranch?: string;
  readonly steps?: boolean;
  readonly yes?: boolean;
}

function addCheck(program: Command, io: Io, done: (code: number) => void): void {
  program
    .command('check')
    .description('find out what would go wrong: workflow, agent, tracker, hooks, variables, isolation; starts nothing')
    .argument('[workflow]', 'the workflow file', 'WORKFLOW.md')
    .option('--json', 'print the findings as JSON')
    .option('--schema', 'print the JSON Schema of the settings instead, for editors')
    .option('--state-dir <dir>', 'the state directory that the daemon will use')
    .option('--backend <backend>', 'as for run')
    .action(async (workflowPath: string, flags: CheckFlags) => {
      const { check } = await import('./check.js');
      const { json = false, schema = false, stateDir, backend } = flags;
      done(await check({ workflowPath, json, schema, stateDir, ...(backend === undefined ? {} : { backend }) }, io));
    });
}

interface CheckFlags {
  readonly json?: boolean;
  readonly schema?: boolean;
  readonly stateDir?: string;
  readonly backend?: string;
}

function addRender(program: Command, io: Io, done: (code: number) => void): void {
  program
    .command('render')
    .description('print the prompt of an issue as its first run would send it')
    .argument('<issue>', 'its identifier')
    .argument('[workflow]', 'the workflow file', 'WORKFLOW.md')
    .action(async (issue: string, workflowPath: string) => {
      const { render } = await import('./render.js');
      done(await render({ workflowPath, issue }, io));
    });
}

function addState(program: Command, io: Io, done: (code: number) => void): void {
  const state = program.command('state').description('look at what Baton has stored');
  state
    .command('export')
    .description('print everything that is stored as JSON: claims, runs, tokens, events; also while Baton is at work')
    .argument('[workflow]', 'the workflow file', 'WORKFLOW.md')
    .option('--state-dir <dir>', 'the state directory, where it is not the default one')
    .action(async (workflowPath: string, { stateDir }: { readonly stateDir?: string }) => {
      const { stateExport } = await import('./state-export.js');
      done(await stateExport({ workflowPath, stateDir }, io));
    });
}

function toName(text: string): string {
  if (text.trim() !== '') return text.trim();
  throw new InvalidArgumentError('It must be the name of an issue, such as TASK-1.');
}

function toPort(text: string): number {
  const port = Number(text);
  if (/^\d+$/.test(text) && port <= 65_535) return port;
  throw new InvalidArgumentError('It must be a number from 0 to 65535.');
}

/** What `baton --help` says besides the commands and flags themselves. */
const EXAMPLES = `
Examples:
  baton demo                     see it work, in a folder of its own, with an agent that ships with it
  baton init                     write a WORKFLOW.md for this repository
  baton check                    find out what would go wrong before it does
  baton --dry-run                what would start now, and why the rest would not
  baton run --issue TASK-1       work on one issue in the foreground, then exit
  baton --once                   give every eligible issue one run, then exit
  baton                          work on issues until stopped (Ctrl-C)

  baton status --watch           what needs you, what runs, what comes next; on and on
  baton explain TASK-1           why it does not run, and what to do about it
  baton answer TASK-1 "use v2"   answer what its agent asks; --accept or --decline where it asks for leave
  baton logs TASK-1 -f           what its agent does

Exit codes: 0 fine; 1 failed or refused; 2 usage, settings, no daemon to ask, or a second instance.
status and logs work without a daemon too: status then exits with 1, logs where nothing is known of the issue.`;

const LAST_GROUP = 'Looking deeper:';

/** By use: the first day, then every day, then now and then. */
const GROUPS: readonly (readonly [heading: string, names: readonly string[]])[] = [
  ['Working:', ['run', 'demo', 'init', 'check']],
  [
    'Looking and steering:',
    ['status', 'logs', 'explain', 'answer', 'message', 'stop', 'retry', 'pause', 'resume', 'refresh', 'open'],
  ],
  ['For every day:', ['service', 'report', 'notify']],
  [LAST_GROUP, ['render', 'state', 'recover', 'executor', 'tracker', 'capability']],
];

/** Before the commands are made: they take it over. */
export function describeHelp(program: Command): void {
  const help = new Help();
  program
    .configureHelp({
      argumentDescription: (argument) => withoutQuotes(help.argumentDescription(argument)),
      optionDescription: (option) => withoutQuotes(help.optionDescription(option)),
    })
    .addHelpText('after', () => `\nOptions of run, the default command:\n${optionsOf(program, 'run')}\n${EXAMPLES}`);
}

/** After the commands are made. A command that no group names stands last. */
export function groupCommands(program: Command): void {
  const names = GROUPS.flatMap(([, group]) => group);
  const place = (command: Command) => (names.indexOf(command.name()) + names.length + 1) % (names.length + 1);
  (program.commands as Command[]).sort((a, b) => place(a) - place(b));
  for (const [heading, group] of GROUPS)
    for (const command of program.commands) if (group.includes(command.name())) command.helpGroup(heading);
  program.commandsGroup(LAST_GROUP).helpCommand('help [command]', 'print the help of a command');
}

/** One spelling of choices and defaults, whoever wrote them: without quotes. */
function withoutQuotes(text: string): string {
  return text.replace(/\((?:choices|default): [^()]*\)$/, (added) => added.replaceAll('"', ''));
}

/** Who asks for help with `baton` wants to see what `baton` alone can do. */
function optionsOf(program: Command, name: string): string {
  const command = program.commands.find((one) => one.name() === name);
  const help = program.createHelp();
  const options = command ? help.visibleOptions(command).filter(({ long }) => long !== '--help') : [];
  return options.map((one) => `  ${help.optionTerm(one).padEnd(20)} ${help.optionDescription(one)}`).join('\n');
}
