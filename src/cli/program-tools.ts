import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { NOTICE_KINDS, type NoticeKind } from '../domain/config.js';
import { DEFAULT_SINCE, SINCE_FORMS } from '../report/past-since.js';
import { REPORT_BY, type ReportBy } from '../report/report.js';
import type { Io } from './io.js';

/** The commands about capabilities and their executors. What they do is loaded when they are called. */
export function addCapability(program: Command, io: Io, done: (code: number) => void): void {
  const capability = program
    .command('capability')
    .description('look at capabilities and their executors, try one, make a new executor');
  addList(capability, io, done);
  addRun(capability, io, done);
  addCreate(capability, io, done);
  addRefresh(capability, io, done);
}

function addList(capability: Command, io: Io, done: (code: number) => void): void {
  capability
    .command('list')
    .description('print the executors and capabilities of a project, who runs what, and what is wrong with them')
    .argument('[workflow]', 'the workflow file whose folder is the project (default: this folder)')
    .option('--json', 'print it as JSON')
    .action(async (workflow: string | undefined, { json = false }: { readonly json?: boolean }) => {
      const { listCapability } = await import('./capability.js');
      done(await listCapability({ workflow, json }, io));
    });
}

function addRun(capability: Command, io: Io, done: (code: number) => void): void {
  capability
    .command('run')
    .description('run one capability right here, without a daemon; its result goes to the output as JSON')
    .argument('<type>', 'its type, such as skill')
    .argument('<name>', 'its name')
    .option('--params <json>', 'what it is called with, as a JSON object')
    .option('--param <key=value>', 'one parameter; as often as needed, and wins over --params', collect, [])
    .option('--workspace <dir>', 'the folder that it works in (default: this one)')
    .option('--timeout <seconds>', 'end it after so long (default: never)', toSeconds)
    .option('--workflow <file>', 'the workflow whose project and settings are meant (default: that of this folder)')
    .action(async (type: string, name: string, flags: RunFlags) => {
      const { runCapability } = await import('./capability-run.js');
      const { params, param, workspace, timeout, workflow } = flags;
      const timeoutMs = timeout === undefined ? null : timeout * 1000;
      done(await runCapability({ type, name, params, param, workspace, timeoutMs, workflow }, io));
    });
}

interface RunFlags {
  readonly params?: string;
  readonly param: readonly string[];
  readonly workspace?: string;
  readonly timeout?: number;
  readonly workflow?: string;
}

function addCreate(capability: Command, io: Io, done: (code: number) => void): void {
  capability
    .command('create')
    .description('make the folder of a new executor, with code to be replaced; never overwrites anything')
    .argument('<name>', 'its name')
    .requiredOption('--type <type>', 'a type of capability that it runs; as often as needed', collect)
    .option('--description <text>', 'what it is for')
    .option('--global', 'for all projects of this user, in the home folder')
    .option('--workflow <file>', 'the workflow file whose folder is the project (default: this folder)')
    .action(async (name: string, { type, global: isGlobal = false, ...flags }: CreateFlags) => {
      const { createExecutor } = await import('./capability.js');
      done(await createExecutor({ name, types: type, isGlobal, ...flags }, io));
    });
}

interface CreateFlags {
  readonly type: readonly string[];
  readonly description?: string;
  readonly global?: boolean;
  readonly workflow?: string;
}

function addRefresh(capability: Command, io: Io, done: (code: number) => void): void {
  capability
    .command('refresh')
    .description('let the running daemon look again for executors and capabilities, and print what it finds')
    .argument('[workflow]', 'the workflow file that the daemon works with (default: WORKFLOW.md)')
    .option('--state-dir <dir>', 'the state directory of the daemon')
    .action(async (workflow: string | undefined, { stateDir }: { readonly stateDir?: string }) => {
      const { refreshCapabilities } = await import('./capability.js');
      done(await refreshCapabilities({ workflow, stateDir }, io));
    });
}

function collect(text: string, earlier: readonly string[] = []): readonly string[] {
  return [...earlier, text];
}

function toSeconds(text: string): number {
  const seconds = Number(text);
  if (/^\d+(?:\.\d+)?$/.test(text) && seconds > 0 && seconds <= 86_400) return seconds;
  throw new InvalidArgumentError('It must be a number of seconds, up to 86400.');
}

/** The commands about external executors. What they do is loaded when they are called. */
export function addExecutor(program: Command, io: Io, done: (code: number) => void): void {
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
    .description('start an executor several times in an empty folder, and report where it breaks the protocol')
    .argument('<name>', 'its name, as `baton executor list` shows it')
    .argument('[workflow]', 'the workflow file', 'WORKFLOW.md')
    .option('--input <file>', 'a JSON file with the input to give it, where it does nothing without one')
    .option('--limit <seconds>', 'how long it may take each time', toSeconds, 30)
    .action(async (name: string, workflowPath: string, { input, limit }: TestFlags) => {
      // `baton executor test other/WORKFLOW.md` has forgotten the name.
      if (/\.md$/i.test(name) && existsSync(resolve(io.cwd, name))) {
        executor.error(`error: ${name} is a workflow; name the executor first, see 'baton executor list ${name}'`);
      }
      const { testExecutor } = await import('./executor.js');
      done(await testExecutor({ name, workflowPath, inputPath: input, limitMs: limit * 1000 }, io));
    });
}

interface TestFlags {
  readonly input?: string;
  readonly limit: number;
}

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
    .action(async (workflowPath: string, { kind, stateDir }: AddNotifyTestFlags) => {
      const { testNotify } = await import('./notify-test.js');
      done(await testNotify({ workflowPath, kind, stateDir }, io));
    });
}

interface AddNotifyTestFlags {
  readonly kind: NoticeKind;
  readonly stateDir?: string;
}

/** The flags of `baton recover`. What it does is loaded when it is called. */
export function addRecover(program: Command, io: Io, done: (code: number) => void): void {
  program
    .command('recover')
    .description(
      'bring back what was saved of a removed workspace, as new branches; touches no file and no other branch',
    )
    .argument('[issue]', 'its identifier; without one, --list is meant')
    .argument('[workflow]', 'the workflow file', 'WORKFLOW.md')
    .option('--list', 'show what was saved, of the issue or of all, and do nothing')
    .option('--saved <name>', 'another than the newest, by its name in the list')
    .option('--repository <path>', 'where several were saved: which one, by its path in the workspace')
    .option('--into <dir>', 'the repository that gets the branches (default: the one of this folder)')
    .option('--state-dir <dir>', 'the state directory of the daemon')
    .action(async (first: string | undefined, second: string, flags: RecoverFlags) => {
      // Who lists everything of another workflow has no issue to name.
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

/** The command about tracker programs. What it does is loaded when it is called. */
export function addTracker(program: Command, io: Io, done: (code: number) => void): void {
  const tracker = program
    .command('tracker')
    .description('check a program that serves issues (tracker.kind: command) against the protocol');
  tracker
    .command('test')
    .description('start the program as the daemon would, ask it everything, and tell where it leaves the protocol')
    .argument('[command]', 'the command, or a workflow with its environment (default: WORKFLOW.md)')
    .option('--write <id>', 'comment on this issue, move it and move it back: people will see that', toText)
    .option('--states <states>', 'look for issues in these, with commas between them', toStates)
    .option(
      '--limit <seconds>',
      'how long an answer may take (default: timeout_ms of the workflow, or 30)',
      toSecondsAddTracker,
    )
    .action(async (named: string | undefined, { write, states, limit }: AddTrackerTestFlags) => {
      const { testTracker } = await import('./tracker.js');
      const limitMs = limit === undefined ? undefined : limit * 1000;
      done(await testTracker({ named, writeId: write, states, limitMs }, io));
    });
}

interface AddTrackerTestFlags {
  readonly write?: string;
  readonly states?: readonly string[];
  readonly limit?: number;
}

function toText(text: string): string {
  if (text.trim() !== '') return text.trim();
  throw new InvalidArgumentError('It must be the id of an issue.');
}

function toStates(text: string): readonly string[] {
  const states = text.split(',').map((state) => state.trim());
  if (states.every((state) => state !== '')) return states;
  throw new InvalidArgumentError('It must be names of states, such as "Todo,In Progress".');
}

function toSecondsAddTracker(text: string): number {
  const seconds = Number(text);
  if (/^\d+(?:\.\d+)?$/.test(text) && seconds > 0 && seconds <= 600) return seconds;
  throw new InvalidArgumentError('It must be a number of seconds, up to 600.');
}
