import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { nearestWord } from '../domain/nearest-word.js';
import type { LogLevel } from '../logging/logger.js';
import { LOG_LEVELS, type ProgramContext, parsePort } from './program-context.js';

/** The commands that work on issues or prepare that: run, demo, init, check. */
export function addWorkCommands(context: ProgramContext): void {
  addRun(context);
  addDemo(context);
  addInit(context);
  addCheck(context);
}

function addRun({ program, io, version, done }: ProgramContext): void {
  program
    .command('run', { isDefault: true })
    .description('work on issues until stopped; the default command')
    .argument('[workflow]', 'the workflow file', 'WORKFLOW.md')
    // Checked below: for `baton chekc x.md` the problem is the command, not an argument of run.
    .allowExcessArguments()
    .option('--once', 'give every eligible issue one run, then exit')
    .option('--issue <id>', 'work on this one issue in the foreground, then exit', parseIssue)
    .addOption(
      new Option('--dry-run', 'print what would start and why other issues would not; start nothing').conflicts(
        'issue',
      ),
    )
    .option('--state-dir <dir>', 'the state directory (default: below ~/.local/state/baton)')
    .addOption(new Option('--log-level <level>', 'how much to log').choices(LOG_LEVELS))
    .option('--log-file <file>', 'also write the log to this file, as JSON lines')
    .option('--backend <backend>', 'what agent steps with `backend: auto` run on: http, cli or auto')
    .option('--allow-changes', 'apply every change of WORKFLOW.md at once, also of hooks and commands; see baton allow')
    .option('--port <port>', 'serve the page and the API on this port of 127.0.0.1; 0: any free port', parsePort)
    .action(async (workflowPath: string, flags: RunFlags, command: Command) => {
      const [, excess] = command.args;
      refuseUnknownCommand(program, workflowPath, io.cwd);
      if (excess !== undefined) program.error(`error: run takes one workflow file; unexpected: '${excess}'`);
      const { once = false, dryRun: isDryRun = false, ...options } = flags;
      if (isDryRun) {
        const { dryRun } = await import('./dry-run.js');
        const { stateDir, backend, allowChanges } = options;
        return done(await dryRun({ workflowPath, stateDir, backend, allowChanges }, io));
      }
      const { run } = await import('./run.js');
      done(await run({ workflowPath, once, version, ...options }, io));
    });
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
  readonly allowChanges?: boolean;
}

function parseIssue(text: string): string {
  if (text.trim() !== '') return text.trim();
  throw new InvalidArgumentError('It must be the name of an issue, such as TASK-1.');
}

/** The argument of run may be a mistyped command: `baton chekc`. */
function refuseUnknownCommand(program: Command, word: string, cwd: string): void {
  if (!/^[a-z]+$/i.test(word) || existsSync(resolve(cwd, word))) return;
  const names = program.commands.map((command) => command.name());
  const near = names.includes(word) ? null : nearestWord(word, names);
  const hint = near === null ? '' : `\n(Did you mean ${near}?)`;
  program.error(`error: there is neither a command nor a file '${word}'${hint}`);
}

function addDemo({ program, io, version, done }: ProgramContext): void {
  program
    .command('demo')
    .description('create a folder with sample issues and work on them until all are done')
    .argument('[folder]', 'the new folder', 'baton-demo')
    .addOption(new Option('--agent <agent>', 'the agent').choices(['demo', 'codex']).default('demo'))
    .action(async (folder: string, { agent }: { readonly agent: 'demo' | 'codex' }) => {
      const { demo } = await import('./demo.js');
      done(await demo({ folder, agent, version }, io));
    });
}

function addInit({ program, io, done }: ProgramContext): void {
  program
    .command('init')
    .description('write a WORKFLOW.md for a repository, and a first issue; never overwrites a file')
    .argument('[folder]', 'the folder of the repository', '.')
    .option('--tracker <kind>', 'the tracker: local, linear, github, gitlab, jira, redmine or command')
    .option('--project <address>', 'the project of the tracker: the address of its page, or owner/name')
    .option('--agent <agent>', 'the agent: codex or demo')
    .option('--label <label>', 'the label that an issue must have to be started')
    .option('--repo-url <url>', 'the repository to clone into each workspace; none: clone nothing')
    .option('--base-branch <branch>', 'the branch from which the branches of issues start')
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

function addCheck({ program, io, done }: ProgramContext): void {
  program
    .command('check')
    .description('find mistakes in workflow, agent, tracker, hooks, variables and isolation; starts no run')
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
