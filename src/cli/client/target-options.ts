import type { Command } from 'commander';
import type { DaemonTarget } from '../daemon-place.js';

/** How a daemon is named on the command line. */
export interface TargetFlags {
  readonly workflow?: string;
  readonly stateDir?: string;
}

/** For every command that is about a running daemon. */
export function withTarget(command: Command): Command {
  return command
    .option('--workflow <file>', 'the workflow file of the daemon (default: WORKFLOW.md)')
    .option('--state-dir <dir>', 'the state directory of the daemon, where it is not the default one');
}

/** The same where no words of a person come last: the workflow may stand there without its flag. */
export function withWorkflow(command: Command): Command {
  return withTarget(command.argument('[workflow]', 'the same as --workflow'));
}

/** Whom `argument` and the flags name; who names two is told so. */
export function targetOf(argument: string | undefined, flags: TargetFlags, command: Command): DaemonTarget {
  const { workflow, stateDir } = flags;
  if (argument !== undefined && workflow !== undefined && argument !== workflow)
    command.error(`error: name one workflow, not both '${argument}' and --workflow '${workflow}'`);
  return { workflow: workflow ?? argument, stateDir };
}
