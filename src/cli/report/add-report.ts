import { type Command, Option } from 'commander';
import { DEFAULT_SINCE, SINCE_FORMS } from '../../report/parse-since.js';
import { REPORT_BY, type ReportBy } from '../../report/report.js';
import type { Io } from '../io.js';

/** The flags of `baton report`. What it does is loaded when it is called. */
export function addReport(program: Command, io: Io, done: (code: number) => void): void {
  program
    .command('report')
    .description('what was done, by which runs, at what cost; also while Baton is at work')
    .argument('[workflow]', 'the workflow file', 'WORKFLOW.md')
    .option('--since <when>', `from when on: ${SINCE_FORMS}`, DEFAULT_SINCE)
    .addOption(new Option('--by <what>', 'what a line of it is about').choices(REPORT_BY).default('issue'))
    .addOption(new Option('--json', 'print it as JSON').conflicts('md'))
    .option('--md', 'print it as Markdown')
    .option('--workflow <file>', 'the same as the argument')
    .option('--state-dir <dir>', 'the state directory of the daemon')
    .addHelpText('after', '\nExit codes: 0 reported, also when there is nothing; 1 the store cannot be read; 2 usage.')
    .action(async (argument: string, { json, md, workflow: workflowPath = argument, ...flags }: ReportFlags) => {
      const { report } = await import('../report.js');
      const form = json ? 'json' : md ? 'md' : 'text';
      done(await report({ workflowPath, form, ...flags }, io, Date.now()));
    });
}

interface ReportFlags {
  readonly since: string;
  readonly by: ReportBy;
  readonly json?: boolean;
  readonly md?: boolean;
  readonly stateDir?: string;
  readonly workflow?: string;
}
