import { Command, CommanderError, Help } from 'commander';
import { type Io, processIo } from './io.js';
import type { ProgramContext } from './program-context.js';
import { addDaemonCommands } from './program-daemon.js';
import { addService } from './program-service.js';
import { addToolCommands } from './program-tools.js';
import { addWorkCommands } from './program-work.js';

/** Runs the command that `argv` names and returns its exit code. Throws `BatonError`. */
export async function runProgram(
  argv: readonly string[],
  version: string,
  io: Io = processIo(version),
): Promise<number> {
  let exitCode = 0;
  const context: ProgramContext = {
    program: new Command('baton'),
    io,
    version,
    done: (code) => {
      exitCode = code;
    },
  };
  defineProgram(context);
  try {
    await context.program.parseAsync(argv);
    return exitCode;
  } catch (error) {
    // Commander has printed the problem; --help and --version exit with 0.
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    throw error;
  }
}

function defineProgram(context: ProgramContext): void {
  const { program, io, version } = context;
  const help = new Help();
  program
    .description('Turns issues into finished work: a workspace and a coding agent for each, until it is done.')
    .version(version, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print this')
    .exitOverride()
    .showHelpAfterError('(baton --help lists commands and flags)')
    .configureOutput({ writeOut: (text) => io.stdout.write(text), writeErr: (text) => io.stderr.write(text) })
    // Before the commands are added, since they inherit it.
    .configureHelp({
      argumentDescription: (argument) => withoutQuotes(help.argumentDescription(argument)),
      optionDescription: (option) => withoutQuotes(help.optionDescription(option)),
    })
    .addHelpText('after', () => `\nOptions of run, the default command:\n${optionsOf(program, 'run')}\n${EXAMPLES}`);
  addWorkCommands(context);
  addDaemonCommands(context);
  addService(context);
  addToolCommands(context);
  groupCommands(program);
}

/** Choices and defaults without quotes, as in our own descriptions. */
function withoutQuotes(text: string): string {
  return text.replace(/\((?:choices|default): [^()]*\)$/, (added) => added.replaceAll('"', ''));
}

function optionsOf(program: Command, name: string): string {
  const command = program.commands.find((one) => one.name() === name);
  const help = program.createHelp();
  const options = command ? help.visibleOptions(command).filter(({ long }) => long !== '--help') : [];
  return options.map((one) => `  ${help.optionTerm(one).padEnd(20)} ${help.optionDescription(one)}`).join('\n');
}

const EXAMPLES = `
Examples:
  baton demo                     see it work in a folder of its own, with the agent that ships with Baton
  baton init                     write a WORKFLOW.md for this repository
  baton check                    find mistakes before the first run
  baton --dry-run                what would start now, and why other issues would not
  baton run --issue TASK-1       work on one issue in the foreground, then exit
  baton --once                   give every eligible issue one run, then exit
  baton                          work on issues until stopped (Ctrl-C)

  baton status --watch           what needs you, what runs and what comes next, kept up to date
  baton explain TASK-1           why an issue does not run, and what to do about it
  baton answer TASK-1 "use v2"   answer a question of an agent; --accept or --decline when it asks for approval
  baton logs TASK-1 -f           what the agent of an issue does

Exit codes: 0 success; 1 failed or refused; 2 usage, settings, no running daemon, or a second instance.
status and logs also work without a daemon: then status exits with 1, and logs exits with 1 for an unknown issue.`;

const LAST_GROUP = 'Tools:';

/** By use: at first, every day, now and then. */
const GROUPS: readonly (readonly [heading: string, names: readonly string[]])[] = [
  ['Working:', ['run', 'demo', 'init', 'check']],
  [
    'Watching and steering:',
    ['status', 'logs', 'explain', 'answer', 'message', 'stop', 'retry', 'pause', 'resume', 'refresh', 'open', 'allow'],
  ],
  ['For every day:', ['service', 'report', 'notify']],
  [LAST_GROUP, ['render', 'state', 'recover', 'executor', 'tracker', 'capability']],
];

/** Sorts the commands by group; a command without a group comes last. */
function groupCommands(program: Command): void {
  const names = GROUPS.flatMap(([, group]) => group);
  const rank = (command: Command) => (names.indexOf(command.name()) + names.length + 1) % (names.length + 1);
  (program.commands as Command[]).sort((a, b) => rank(a) - rank(b));
  for (const [heading, group] of GROUPS)
    for (const command of program.commands) if (group.includes(command.name())) command.helpGroup(heading);
  program.commandsGroup(LAST_GROUP).helpCommand('help [command]', 'print the help of a command');
}
