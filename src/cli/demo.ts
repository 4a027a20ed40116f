import { mkdir, readdir, readFile, realpath, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { mainHold } from '../../orchestrator/holds.js';
import type { State } from '../../orchestrator/state.js';
import { startDaemon } from '../daemon/daemon.js';
import { demoAgentCommand } from '../demo/demo-agent-command.js';
import { runChild } from '../demo/run-child.js';
import { ERRORS } from '../domain/error-table.js';
import { shellWord } from '../domain/shell-word.js';
import { createLogger } from '../logging/logger.js';
import { createRedactor } from '../logging/redact.js';
import { defaultLockDir, openStateDir } from '../state-dir.js';
import { neutralise } from '../text/neutralise.js';
import { type NewTask, newBacklog } from '../tracker/local/new-backlog.js';
import { type Io, invocation, shorter } from './io.js';
import { openWorkflow } from './open-workflow.js';
import { endOnFault, handleSignals } from './run.js';
import { RunPrinter } from './run-view.js';

export interface DemoOptions {
  readonly folder: string;
  readonly agent: 'demo' | 'codex';
  readonly version: string;
}

/** Creates a folder with sample issues and runs the real daemon on them until all are done. */
export async function demo({ folder, agent, version }: DemoOptions, io: Io): Promise<number> {
  const agentCommand = agent === 'codex' ? 'codex app-server' : demoAgentCommand(io.env);
  const made = await makeDemo(resolve(io.cwd, folder), { agentCommand, env: io.env });
  io.stdout.write(opening(made, agent, io));
  const logFile = join(made.dir, 'baton.log');
  const redactor = createRedactor();
  const log = createLogger({ level: 'info', redactor, stream: null, file: { path: logFile } });
  const stateDir = join(made.dir, 'state');
  const printer = new RunPrinter(io.stdout, redactor);
  const signals = handleSignals();
  endOnFault(log);
  let reportEnd = (_end: Ending): void => {};
  const ended = new Promise<Ending>((resolve) => {
    reportEnd = resolve;
  });
  const daemon = await startDaemon({
    ...(await openWorkflow(made.workflowPath, stateDir, io)),
    lockDir: defaultLockDir(io.env, io.homeDir),
    stateDir: await openStateDir(stateDir),
    log,
    redactor,
    env: io.env,
    homeDir: io.homeDir,
    version,
    observer: printer,
    onDecided: (event, state) => {
      printer.decided(event, state, Date.now());
      const end = endingOf(state);
      if (end !== null) reportEnd(end);
    },
  });
  void ended.then(() => daemon.dispatch({ type: 'shutdown_requested' }));
  signals.stop(daemon);
  const code = await daemon.exited;
  const end = await Promise.race([ended, STOPPED]);
  io.stdout.write(closing(made, end, io));
  return code === 0 && end.ok ? 0 : 1;
}

interface Ending {
  readonly ok: boolean;
  readonly why: string;
}

/** A signal stopped the demo. */
const STOPPED: Ending = { ok: false, why: 'it was stopped before all issues were done' };

/** All issues are done, or only a person can help; null otherwise. */
function endingOf(state: State): Ending | null {
  const { poll, claims, candidates, removals, shutdown } = state;
  if (shutdown !== null) return null;
  const main = mainHold(state);
  if (main) return { ok: false, why: `${main.hold.message}. ${ERRORS[main.hold.code].action}` };
  const parked = Object.values(claims).find(({ status }) => status.kind === 'parked');
  if (parked?.status.kind === 'parked')
    return { ok: false, why: `${parked.issue.identifier} was parked: ${parked.status.message}` };
  if (poll.failure) return { ok: false, why: poll.failure.message };
  const isIdle = Object.keys(claims).length === 0 && Object.keys(removals).length === 0;
  return poll.lastOkAtMs !== null && isIdle && Object.keys(candidates).length === 0 ? { ok: true, why: '' } : null;
}

function opening({ dir, issues }: Demo, agent: 'demo' | 'codex', io: Io): string {
  const who = agent === 'codex' ? 'Codex, with your login and at your cost' : 'the demo agent, no model involved';
  return [
    `${issues.length} issues in ${shellWord(shorter(join(dir, 'backlog', 'tasks'), io.cwd))}, two at a time, worked on by ${who}.`,
    'To watch it from another terminal, in this folder:',
    `    ${invocation(process.argv, io.cwd)} status --state-dir ${shellWord(shorter(join(dir, 'state'), io.cwd))}`,
    '',
    '',
  ].join('\n');
}

function closing({ dir, issues }: Demo, end: Ending, io: Io): string {
  const baton = invocation(process.argv, io.cwd);
  const here = (...parts: string[]) => shellWord(shorter(join(dir, ...parts), io.cwd));
  const column = (...parts: string[]) => here(...parts).padEnd(here('backlog', 'tasks').length);
  const head = end.ok ? `All ${issues.length} issues are done.` : `The demo did not finish: ${neutralise(end.why)}`;
  return `
${head}

Where things are
  ${column('WORKFLOW.md')}   the only configuration file; it is short
  ${column('backlog', 'tasks')}   the issues, now ${end.ok ? 'Done, each with a comment of its agent' : 'in their last state'}
  ${column('project.git')}   the work, a branch for each issue:
      git -C ${here('project.git')} log --all --oneline --stat
  ${column('baton.log')}   the log; a transcript of each run is in ${here('state', 'transcripts')}

What to try next
  See what was done, and what one of the agents did:
      ${baton} report ${here('WORKFLOW.md')} --state-dir ${here('state')}
      ${baton} logs TASK-1 ${here('WORKFLOW.md')} --state-dir ${here('state')}
  Let it run, with its page on a port, and set \`status: To Do\` in one of the issues:
      ${baton} ${here('WORKFLOW.md')} --state-dir ${here('state')} --port 4711
  and open that page from another terminal; status, explain TASK-1 and pause take the same flag:
      ${baton} open --state-dir ${here('state')}
  Use Codex in your own repository:
      cd path/to/your/repository && ${invocation(process.argv, dir)} init
`;
}

interface DemoFolderOptions {
  /** `codex.command` of the workflow: a shell command. */
  readonly agentCommand: string;
  /** For git's PATH. */
  readonly env: NodeJS.ProcessEnv;
}

export interface Demo {
  /** The real path of the folder, which may differ from the requested one. */
  readonly dir: string;
  readonly workflowPath: string;
  /** The folder of the issues. */
  readonly backlog: string;
  /** The bare git repository that ends up with a branch `baton/<identifier>` per issue. */
  readonly repository: string;
  readonly workspaces: string;
  readonly issues: readonly { readonly identifier: string; readonly title: string }[];
}

/**
 * Creates the folder of the demo. Uses a missing or empty folder; beside an earlier demo it creates a new one (`<dir>-2`, `-3`, …), so that
 * no results are lost. Throws an `Error` with a message for the user for any other folder.
 */
export async function makeDemo(wanted: string, { agentCommand, env }: DemoFolderOptions): Promise<Demo> {
  const dir = await claimFolder(resolve(wanted));
  const demo: Demo = {
    dir,
    workflowPath: join(dir, 'WORKFLOW.md'),
    backlog: join(dir, 'backlog'),
    repository: join(dir, 'project.git'),
    workspaces: join(dir, 'workspaces'),
    issues: SAMPLE_ISSUES.map(({ id, title }) => ({ identifier: id, title })),
  };
  const values = { __AGENT_COMMAND__: JSON.stringify(agentCommand) };
  const [workflow, readme] = await Promise.all([asset('WORKFLOW.md'), asset('project.md')]);
  await makeRepository(demo.repository, readme, { dir, env });
  await mkdir(join(demo.backlog, 'tasks'), { recursive: true });
  for (const { path, text } of newBacklog('Baton demo', SAMPLE_ISSUES, Date.now()))
    await writeFile(join(demo.backlog, path), text);
  await writeFile(demo.workflowPath, filled(workflow, values));
  return demo;
}

/** Keeps the demo out of a surrounding git repository, and marks the folder as a demo. */
const MARK_FILE = '.gitignore';
const MARK =
  '# A demo of Baton. Nothing here belongs to your project; delete the folder when you are done with it.\n*\n';
const MAX_DEMOS = 1_000;

async function claimFolder(wanted: string): Promise<string> {
  if (/\p{Cc}/u.test(wanted)) throw new Error('the name of the demo folder must not contain control characters');
  for (let number = 1; number <= MAX_DEMOS; number++) {
    const dir = number === 1 ? wanted : `${wanted}-${number}`;
    const content = await contentOf(dir);
    if (content === 'demo') continue;
    if (content === 'other') {
      throw new Error(
        `${dir} is not empty and not a demo: nothing was created. Name a folder that does not exist yet.`,
      );
    }
    await writeFile(join(dir, MARK_FILE), MARK).catch((error: unknown) => {
      throw notMade(dir, error);
    });
    return realpath(dir);
  }
  throw new Error(`there are ${MAX_DEMOS} demos beside ${wanted}: delete some of them, or name another folder.`);
}

/** Creates the folder if it is missing. */
async function contentOf(dir: string): Promise<'empty' | 'demo' | 'other'> {
  try {
    await mkdir(dirname(dir), { recursive: true });
    await mkdir(dir);
    return 'empty';
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw notMade(dir, error);
  }
  const names = await readdir(dir).catch((error: unknown) => {
    throw notMade(dir, error);
  });
  if (names.length === 0) return 'empty';
  const mark = await readFile(join(dir, MARK_FILE), 'utf8').catch(() => '');
  return mark.startsWith(MARK.slice(0, MARK.indexOf('\n'))) ? 'demo' : 'other';
}

function notMade(dir: string, error: unknown): Error {
  const reasons: { readonly [code: string]: string } = {
    EACCES: 'you have no permission to write there',
    EPERM: 'you have no permission to write there',
    EROFS: 'the disk is read-only',
    ENOTDIR: 'a file is in the way',
    ENOSPC: 'the disk is full',
  };
  const reason = reasons[codeOf(error)] ?? (error instanceof Error ? error.message : String(error));
  return new Error(`the demo folder ${dir} cannot be created: ${reason}. Name another folder.`, { cause: error });
}

function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? '';
}

function asset(name: string): Promise<string> {
  return readFile(new URL(`../../templates/demo/${name}`, import.meta.url), 'utf8');
}

function filled(text: string, values: { readonly [name: string]: string }): string {
  return text.replace(/__[A-Z_]+?__/g, (name) => values[name] ?? name);
}

/** Creates a bare git repository with one commit on `main`, without the identity, hooks and settings of the user. Throws an `Error`. */
async function makeRepository(path: string, readme: string, options: RepositoryOptions): Promise<void> {
  const git = gitIn(path, options);
  await git(['init', '--quiet', '--bare', '--template=', path]);
  await git(['symbolic-ref', 'HEAD', 'refs/heads/main']);
  const blob = await git(['hash-object', '-w', '--stdin'], readme);
  const tree = await git(['mktree'], `100644 blob ${blob}\tREADME.md\n`);
  const commit = await git(['commit-tree', tree, '-m', 'Begin']);
  await git(['update-ref', 'refs/heads/main', commit]);
}

interface RepositoryOptions {
  /** The folder of the repository. */
  readonly dir: string;
  readonly env: NodeJS.ProcessEnv;
}

function gitIn(path: string, { dir, env }: RepositoryOptions) {
  const identity = { NAME: 'Baton demo', EMAIL: 'baton@localhost' };
  const clean = {
    PATH: env.PATH,
    LC_ALL: 'C',
    GIT_DIR: path,
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_AUTHOR_NAME: identity.NAME,
    GIT_AUTHOR_EMAIL: identity.EMAIL,
    GIT_COMMITTER_NAME: identity.NAME,
    GIT_COMMITTER_EMAIL: identity.EMAIL,
  };
  return async (args: readonly string[], input?: string): Promise<string> => {
    const options = { cwd: dir, env: clean, ...(input === undefined ? {} : { input }) };
    const { exitCode, stdout, output } = await runChild('git', args, options).catch((cause: Error) => {
      throw new Error(`git cannot be started; install git, which the demo needs. (${cause.message})`, { cause });
    });
    if (exitCode !== 0) throw new Error(`git ${args[0]} failed in ${path}: ${output.trim().slice(0, 500)}`);
    return stdout.trim();
  };
}

/** The issues of the demo. The demo agent carries out their bullets; a real agent reads them as text. */
export const SAMPLE_ISSUES: readonly NewTask[] = [
  {
    id: 'TASK-1',
    title: 'Write a greeting',
    priority: 'high',
    labels: ['text'],
    dependencies: [],
    description: `The project should greet whoever looks at it.

- write \`greeting.txt\`: Hello, world
- run \`wc -c greeting.txt\` to see that it is there`,
  },
  {
    id: 'TASK-2',
    title: 'Translate the greeting',
    priority: 'high',
    labels: ['text'],
    dependencies: ['TASK-1'],
    description: `Once there is a greeting (TASK-1), say the same in two more languages.

- write \`greeting.fr.txt\`: Bonjour, le monde
- write \`greeting.de.txt\`: Hallo, Welt
- run \`cat greeting.fr.txt greeting.de.txt\``,
  },
  {
    id: 'TASK-3',
    title: 'Count the words of the README',
    priority: 'high',
    labels: ['tools'],
    dependencies: [],
    description: `People ask how long the README is. A script should tell them.

- write \`count-words.sh\`: wc -w README.md
- run \`bash count-words.sh\`
- fail once (this line is for the demo agent only: it shows how Baton tries again; real agents pass over it)`,
  },
  {
    id: 'TASK-4',
    title: 'Plan the first release',
    priority: 'medium',
    labels: ['text'],
    dependencies: [],
    description: `Two short files: what has to be done before the release, and what it is called.

- write \`release/plan.md\`: 1. Read everything once more. 2. Tag it. 3. Tell people.
- write \`release/name.txt\`: First Light
- run \`ls release\`
- take two turns (this line is for the demo agent only: it shows how Baton asks an agent to go on; real agents pass over it)`,
  },
  {
    id: 'TASK-5',
    title: 'Thank the contributors',
    priority: 'low',
    labels: ['text'],
    dependencies: [],
    description: `Nothing hurries here: this issue has a low priority and waits until one of the two places is free.

- write \`THANKS.md\`: Thank you, whoever you are.
- run \`cat THANKS.md\``,
  },
];
