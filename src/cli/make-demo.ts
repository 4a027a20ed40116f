import { mkdir, readdir, readFile, realpath, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { newBacklog } from '../tracker/local/new-backlog.js';
import { makeRepository } from './demo/make-repository.js';
import { SAMPLE_ISSUES } from './demo/sample-issues.js';

export interface DemoOptions {
  /** `codex.command` of the workflow: a shell command. */
  readonly agentCommand: string;
  /** For git's PATH. */
  readonly env: NodeJS.ProcessEnv;
}

export interface Demo {
  /** The folder that was made, by its real path; not always the one that was asked for. */
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
 * Makes a folder with everything that the demo needs. A missing or empty folder is used as it is; beside a demo that was made before a
 * new one is made (`<dir>-2`, `-3`, …), so that no results are lost; in any other folder nothing is made. Throws an `Error` with a
 * message for people.
 */
export async function makeDemo(wanted: string, { agentCommand, env }: DemoOptions): Promise<Demo> {
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

/** Kept out of the git repository around it, if there is one; and the sign by which a demo is known. */
const MARK_FILE = '.gitignore';
const MARK =
  '# A demo of Baton. Nothing here belongs to your project; delete the folder when you are done with it.\n*\n';
const MAX_DEMOS = 1_000;

async function claimFolder(wanted: string): Promise<string> {
  if (/\p{Cc}/u.test(wanted)) throw new Error('the name of the demo folder must not have control characters in it');
  for (let number = 1; number <= MAX_DEMOS; number++) {
    const dir = number === 1 ? wanted : `${wanted}-${number}`;
    const use = await useOf(dir);
    if (use === 'demo') continue;
    if (use === 'other') {
      throw new Error(`${dir} is not empty and not a demo: nothing was made. Name a folder that does not exist yet.`);
    }
    await writeFile(join(dir, MARK_FILE), MARK).catch((error: unknown) => {
      throw notMade(dir, error);
    });
    return realpath(dir);
  }
  throw new Error(`there are ${MAX_DEMOS} demos beside ${wanted}: delete some of them, or name another folder.`);
}

/** What is in the folder; a missing one is made. */
async function useOf(dir: string): Promise<'empty' | 'demo' | 'other'> {
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
    EACCES: 'you may not write there',
    EPERM: 'you may not write there',
    EROFS: 'the disk is read-only',
    ENOTDIR: 'a file is in the way',
    ENOSPC: 'the disk is full',
  };
  const reason = reasons[codeOf(error)] ?? (error instanceof Error ? error.message : String(error));
  return new Error(`the demo folder ${dir} cannot be made: ${reason}. Name another folder.`, { cause: error });
}

function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? '';
}

function asset(name: string): Promise<string> {
  return readFile(new URL(`../../../templates/demo/${name}`, import.meta.url), 'utf8');
}

function filled(text: string, values: { readonly [name: string]: string }): string {
  return text.replace(/__[A-Z_]+?__/g, (name) => values[name] ?? name);
}
