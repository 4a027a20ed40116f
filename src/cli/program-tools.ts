import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { NOTICE_KINDS, type NoticeKind } from '../domain/config.js';
import { DEFAULT_SINCE, SINCE_FORMS } from '../report/parse-since.js';
import { REPORT_BY, type ReportBy } from '../report/report.js';
import { collect, type ProgramContext, parseSeconds } from './program-context.js';

/** The commands for reports, tests and maintenance. */
export function addToolCommands(context: ProgramContext): void {
  addReport(context);
  addNotify(context);
  addRender(context);
  addState(context);
  addRecover(context);
  addExecutor(context);
  addTracker(context);
  addCapability(context);
}

function addReport({ program, io, done }: ProgramContext): void {
  program
    .command('report')
    .description('print what was done, by which runs and at what cost; also while a daemon is running')
    .argument('[workflow]', 'the workflow file', 'WORKFLOW.md')
    .option('--since <when>', `the start of the period: ${SINCE_FORMS}`, DEFAULT_SINCE)
    .addOption(new Option('--by <what>', 'what to group by').choices(REPORT_BY).default('issue'))
    .addOption(new Option('--json', 'print it as JSON').conflicts('md'))
    .option('--md', 'print it as Markdown')
    .option('--workflow <file>', 'the same as the argument')
    .option('--state-dir <dir>', 'the state directory of the daemon')
    .addHelpText('after', '\nExit codes: 0 printed, also when nothing was done; 1 the store cannot be read; 2 usage.')
    .action(async (argument: string, { json, md, workflow: workflowPath = argument, ...flags }: ReportFlags) => {
      const { report } = await import('./report.js');
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

function addNotify({ program, io, done }: ProgramContext): void {
  program
    .command('notify')
    .description('test the targets of notices')
    .command('test')
    .description('send a sample notice to notify.url and notify.command, and print whether it arrived')
    .argument('[workflow]', 'the workflow file', 'WORKFLOW.md')
    .addOption(new Option('--kind <kind>', 'the kind of the sample').choices(NOTICE_KINDS).default('asking'))
    .option('--state-dir <dir>', 'the state directory of the daemon, if it is not the default one')
    .addHelpText('after', '\nExit codes: 0 all of them arrived, 1 one did not, 2 usage, settings, or no target is set.')
    .action(async (workflowPath: string, { kind, stateDir }: NotifyFlags) => {
      const { testNotify } = await import('./notify-test.js');
      done(await testNotify({ workflowPath, kind, stateDir }, io));
    });
}

interface NotifyFlags {
  readonly kind: NoticeKind;
  readonly stateDir?: string;
}

function addRender({ program, io, done }: ProgramContext): void {
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

function addState({ program, io, done }: ProgramContext): void {
  program
    .command('state')
    .description('inspect what Baton has stored')
    .command('export')
    .description(
      'print everything that is stored as JSON: claims, runs, tokens, events; also while a daemon is running',
    )
    .argument('[workflow]', 'the workflow file', 'WORKFLOW.md')
    .option('--state-dir <dir>', 'the state directory, if it is not the default one')
    .action(async (workflowPath: string, { stateDir }: { readonly stateDir?: string }) => {
      const { stateExport } = await import('./state-export.js');
      done(await stateExport({ workflowPath, stateDir }, io));
    });
}

function addRecover({ program, io, done }: ProgramContext): void {
  program
    .command('recover')
    .description('restore the saved work of a removed workspace as new branches; changes no file and no other branch')
    .argument('[issue]', 'its identifier; without it, --list is assumed')
    .argument('[workflow]', 'the workflow file', 'WORKFLOW.md')
    .option('--list', 'only list what was saved, of the issue or of all issues')
    .option('--saved <name>', 'restore this one instead of the newest, by its name in the list')
    .option('--repository <path>', 'if several were saved: the repository, by its path in the workspace')
    .option('--into <dir>', 'the repository that gets the branches (default: the one of this folder)')
    .option('--state-dir <dir>', 'the state directory of the daemon')
    .action(async (first: string | undefined, second: string, flags: RecoverFlags) => {
      // `baton recover other/WORKFLOW.md` lists the saved work of a workflow and names no issue.
      const isWorkflow = first !== undefined && /\.md$/i.test(first) && existsSync(resolve(io.cwd, first));
      const [issue, workflowPath] = isWorkflow ? [undefined, first] : [first, second];
      const [{ recover }, { invocation }] = await Promise.all([import('./recover.js'), import('./io.js')]);
      const list = flags.list ?? (issue === undefined && flags.saved === undefined);
      const command = invocation(process.argv, io.cwd);
      done(await recover({ ...flags, issue, workflowPath, list, command }, io));
    });
}

interface RecoverFlags {
  readonly list?: boolean;
  readonly saved?: string;
  readonly repository?: string;
  readonly into?: string;
  readonly stateDir?: string;
}

function addExecutor({ program, io, done }: ProgramContext): void {
  const executor = program
    .command('executor')
    .description('list external executors, and check one against the protocol');
  executor
    .command('list')
    .description('print the executors that the workflow can use, and where they are defined')
    .argument('[workflow]', 'the workflow file', 'WORKFLOW.md')
    .action(async (workflowPath: string) => {
      const { listExecutors } = await import('./executor.js');
      done(await listExecutors({ workflowPath }, io));
    });
  executor
    .command('test')
    .description('start an executor several times in an empty folder, and print where it violates the protocol')
    .argument('<name>', 'its name in `baton executor list`')
    .argument('[workflow]', 'the workflow file', 'WORKFLOW.md')
    .option('--input <file>', 'a JSON file with the input for an executor that needs one')
    .option('--limit <seconds>', 'the time limit of each start', parseSeconds(86_400), 30)
    .action(async (name: string, workflowPath: string, { input, limit }: ExecutorTestFlags) => {
      // In `baton executor test other/WORKFLOW.md` the name is missing.
      if (/\.md$/i.test(name) && existsSync(resolve(io.cwd, name))) {
        executor.error(`error: ${name} is a workflow; name the executor first, see 'baton executor list ${name}'`);
      }
      const { testExecutor } = await import('./executor.js');
      done(await testExecutor({ name, workflowPath, inputPath: input, limitMs: limit * 1000 }, io));
    });
}

interface ExecutorTestFlags {
  readonly input?: string;
  readonly limit: number;
}

function addTracker({ program, io, done }: ProgramContext): void {
  program
    .command('tracker')
    .description('check a program that serves issues (tracker.kind: command) against the protocol')
    .command('test')
    .description('start the program like the daemon does, send every request, and print where it violates the protocol')
    .argument('[command]', 'the command, or a workflow with its environment (default: WORKFLOW.md)')
    .option('--write <id>', 'comment on this issue, move it and move it back; people will see that', parseIssueId)
    .option('--states <states>', 'read the issues in these states, separated by commas', parseStates)
    .option(
      '--limit <seconds>',
      'the time limit of an answer (default: timeout_ms of the workflow, or 30)',
      parseSeconds(600),
    )
    .action(async (named: string | undefined, { write, states, limit }: TrackerTestFlags) => {
      const { testTracker } = await import('./tracker.js');
      const limitMs = limit === undefined ? undefined : limit * 1000;
      done(await testTracker({ named, writeId: write, states, limitMs }, io));
    });
}

interface TrackerTestFlags {
  readonly write?: string;
  readonly states?: readonly string[];
  readonly limit?: number;
}

function parseIssueId(text: string): string {
  if (text.trim() !== '') return text.trim();
  throw new InvalidArgumentError('It must be the id of an issue.');
}

function parseStates(text: string): readonly string[] {
  const states = text.split(',').map((state) => state.trim());
  if (states.every((state) => state !== '')) return states;
  throw new InvalidArgumentError('It must be names of states, such as "Todo,In Progress".');
}

function addCapability(context: ProgramContext): void {
  const capability = context.program
    .command('capability')
    .description('list capabilities and their executors, try a capability, create an executor');
  addCapabilityList(capability, context);
  addCapabilityRun(capability, context);
  addCapabilityCreate(capability, context);
  addCapabilityRefresh(capability, context);
}

function addCapabilityList(capability: Command, { io, done }: ProgramContext): void {
  capability
    .command('list')
    .description('print the executors and capabilities of a project, which executor runs which, and their problems')
    .argument('[workflow]', 'the workflow file whose folder is the project (default: this folder)')
    .option('--json', 'print it as JSON')
    .action(async (workflow: string | undefined, { json = false }: { readonly json?: boolean }) => {
      const { listCapability } = await import('./capability.js');
      done(await listCapability({ workflow, json }, io));
    });
}

function addCapabilityRun(capability: Command, { io, done }: ProgramContext): void {
  capability
    .command('run')
    .description('run one capability here, without a daemon, and print its result as JSON')
    .argument('<type>', 'its type, such as skill')
    .argument('<name>', 'its name')
    .option('--params <json>', 'its parameters, as a JSON object')
    .option('--param <key=value>', 'one parameter; may be repeated, and overrides --params', collect, [])
    .option('--workspace <dir>', 'the folder that it works in (default: this one)')
    .option('--timeout <seconds>', 'its time limit (default: none)', parseSeconds(86_400))
    .option('--workflow <file>', 'the workflow with the project and the settings (default: that of this folder)')
    .action(async (type: string, name: string, flags: CapabilityRunFlags) => {
      const { runCapability } = await import('./capability-run.js');
      const { params, param, workspace, timeout, workflow } = flags;
      const timeoutMs = timeout === undefined ? null : timeout * 1000;
      done(await runCapability({ type, name, params, param, workspace, timeoutMs, workflow }, io));
    });
}

interface CapabilityRunFlags {
  readonly params?: string;
  readonly param: readonly string[];
  readonly workspace?: string;
  readonly timeout?: number;
  readonly workflow?: string;
}

function addCapabilityCreate(capability: Command, { io, done }: ProgramContext): void {
  capability
    .command('create')
    .description('create the folder of a new executor, with sample code; never overwrites a file')
    .argument('<name>', 'its name')
    .requiredOption('--type <type>', 'a type of capability that it runs; may be repeated', collect)
    .option('--description <text>', 'its description')
    .option('--global', 'for all projects of this user, in the home folder')
    .option('--workflow <file>', 'the workflow file whose folder is the project (default: this folder)')
    .action(async (name: string, { type, global: isGlobal = false, ...flags }: CapabilityCreateFlags) => {
      const { createExecutor } = await import('./capability.js');
      done(await createExecutor({ name, types: type, isGlobal, ...flags }, io));
    });
}

interface CapabilityCreateFlags {
  readonly type: readonly string[];
  readonly description?: string;
  readonly global?: boolean;
  readonly workflow?: string;
}

function addCapabilityRefresh(capability: Command, { io, done }: ProgramContext): void {
  capability
    .command('refresh')
    .description('make the running daemon search for executors and capabilities again, and print the result')
    .argument('[workflow]', 'the workflow file of the daemon (default: WORKFLOW.md)')
    .option('--state-dir <dir>', 'the state directory of the daemon')
    .action(async (workflow: string | undefined, { stateDir }: { readonly stateDir?: string }) => {
      const { refreshCapabilities } = await import('./capability.js');
      done(await refreshCapabilities({ workflow, stateDir }, io));
    });
}
