import { type Command, Help } from 'commander';

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
