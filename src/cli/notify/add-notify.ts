import { type Command, Option } from 'commander';
import { NOTICE_KINDS, type NoticeKind } from '../../domain/config.js';
import type { Io } from '../io.js';

/** The commands about notices. What they do is loaded when they are called. */
export function addNotify(program: Command, io: Io, done: (code: number) => void): void {
  const notify = program.command('notify').description('try out where notices are sent');
  notify
    .command('test')
    .description('send a sample notice to notify.url and notify.command, and tell whether it arrived')
    .argument('[workflow]', 'the workflow file', 'WORKFLOW.md')
    .addOption(new Option('--kind <kind>', 'what the sample is about').choices(NOTICE_KINDS).default('asking'))
    .option('--state-dir <dir>', 'the state directory of the daemon, where it is not the default one')
    .addHelpText(
      'after',
      '\nExit codes: 0 all of them arrived, 1 one did not, 2 usage, settings, or nowhere to send it.',
    )
    .action(async (workflowPath: string, { kind, stateDir }: TestFlags) => {
      const { testNotify } = await import('../notify-test.js');
      done(await testNotify({ workflowPath, kind, stateDir }, io));
    });
}

interface TestFlags {
  readonly kind: NoticeKind;
  readonly stateDir?: string;
}
