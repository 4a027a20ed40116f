import { type Command, Option } from 'commander';
import { type TargetFlags, targetOf, withTarget, withWorkflow } from '../client/target-options.js';
import type { Io } from '../io.js';

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
      const { explain } = await import('../explain.js');
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
      const { change } = await import('../control.js');
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
      const { change } = await import('../control.js');
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
      const { message } = await import('./message.js');
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
      const { answer } = await import('../answer.js');
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
