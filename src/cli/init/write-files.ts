import { readFileSync } from 'node:fs';
import { mkdir, rm, rmdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { shellWord } from '../../domain/shell-word.js';
import { newBacklog } from '../../tracker/local/new-backlog.js';
import { INSTALL_CODEX } from '../check/sandbox-findings.js';
import { type Io, shorter } from '../io.js';
import type { StarterChoices } from './choices.js';
import type { Surroundings } from './surroundings.js';

export interface NewFile {
  /** Relative to the folder. */
  readonly path: string;
  readonly text: string;
}

/** Creates all files or none. Never touches an existing file; after a failure it removes what it has created. */
export async function writeNew(dir: string, files: readonly NewFile[]): Promise<void> {
  const madeFiles: string[] = [];
  const madeFolders: string[] = [];
  try {
    for (const { path, text } of files) {
      const target = join(dir, path);
      const folder = dirname(target);
      const first = await mkdir(folder, { recursive: true });
      if (first !== undefined) madeFolders.push(...foldersUpTo(folder, first));
      await create(target, text);
      madeFiles.push(target);
    }
  } catch (error) {
    for (const file of madeFiles) await rm(file, { force: true });
    // Only empty folders are removed.
    for (const folder of madeFolders.sort((a, b) => b.length - a.length)) await rmdir(folder).catch(() => {});
    throw error;
  }
}

async function create(path: string, text: string): Promise<void> {
  try {
    await writeFile(path, text, { flag: 'wx' });
  } catch (error) {
    // On a full disk our file may be half written.
    const isOurs = (error as NodeJS.ErrnoException).code === 'ENOSPC';
    if (isOurs) await rm(path, { force: true });
    throw error;
  }
}

function foldersUpTo(folder: string, first: string): string[] {
  return folder === first || dirname(folder) === folder ? [folder] : [folder, ...foldersUpTo(dirname(folder), first)];
}

const TEMPLATES = new URL('../../../templates/', import.meta.url);

/** The folder of the skill of the starter with steps. */
export const STARTER_SKILL = '.baton/capabilities/skill/leftovers';

export function starterSkill(): NewFile[] {
  return ['capability.yaml', 'run.mjs'].map((name) => ({
    path: `${STARTER_SKILL}/${name}`,
    text: shipped(`capabilities/skill/leftovers/${name}`),
  }));
}

/** The sample program of `tracker.kind: command`. */
const TRACKER_PROGRAM = 'tracker.mjs';
/** The issues of the sample program. */
const TRACKER_BOARD = 'board.json';

export function trackerProgram(label: string, hasRepository: boolean): NewFile[] {
  const { id, title, description } = exampleIssue(hasRepository);
  const issue = { id: '1', identifier: id, title, description, state: 'Todo', labels: [label] };
  const board = { states: ['Todo', 'In Progress', 'Done'], issues: [issue] };
  return [
    { path: TRACKER_PROGRAM, text: shipped('trackers/json-file.mjs') },
    { path: TRACKER_BOARD, text: `${JSON.stringify(board, null, 2)}\n` },
  ];
}

function shipped(name: string): string {
  return readFileSync(fileURLToPath(new URL(name, TEMPLATES)), 'utf8');
}

/** A folder for Backlog.md with one issue. */
export function backlogFiles(project: string, label: string, hasRepository: boolean, nowMs: number): NewFile[] {
  const example = { ...exampleIssue(hasRepository), priority: 'low', dependencies: [], labels: [label] } as const;
  return newBacklog(project, [example], nowMs).map(({ path, text }) => ({ path: `backlog/${path}`, text }));
}

const EXAMPLE_ISSUE = 'TASK-1';

/** A small, harmless issue for the first run. */
function exampleIssue(hasRepository: boolean) {
  const description = hasRepository
    ? 'Read this repository, and write three short sentences for a newcomer into `HELLO-BATON.md` at its top: its purpose, how it is built, how its tests are run. Change nothing else.'
    : 'Write a haiku about handing work on into `HELLO-BATON.md`. Change nothing else.';
  return { id: EXAMPLE_ISSUE, title: 'Say hello', description };
}

/** What the user should know before the first run. */
export function startRemarks({ git, agents }: Surroundings, { repoUrl, hadSecret, agent }: StarterChoices): string[] {
  const remarks: string[] = [];
  if (hadSecret) {
    remarks.push(
      'the address of the repository contained a login, which was left out. Let git log in by ssh or a credential helper',
    );
  }
  if (repoUrl === null) {
    const nothing = git.top === null ? 'this is not a git repository' : 'there is no repository to work on';
    const why = git.hasGit ? (git.refusal ?? nothing) : 'git is not installed';
    const works = 'agents start in empty folders, and their results are copied to baton-results';
    const first = git.hasGit ? '`git init`, commit' : 'install git';
    remarks.push(`${why}: ${works}. To work on code: ${first}, remove WORKFLOW.md and run init again`);
  } else if (repoUrl === git.top) {
    remarks.push(
      'there is no remote: agents clone this folder and push their work to it as branches named baton/<issue>',
    );
    if (!git.hasCommits) remarks.push('there are no commits yet: commit before the first run');
    else if (git.branch === null) remarks.push('no branch is checked out: check one out before the first run');
  }
  const isCodexMissing = agents.some(({ name, isInstalled }) => name === 'codex' && !isInstalled);
  const missing = 'codex is not found by a login shell (`bash -lc`), which is what starts agents';
  const remedy = `${INSTALL_CODEX}, or set PATH in ~/.profile`;
  if (!agent.isInstalled) remarks.push(`${missing}. ${remedy}`);
  else if (agent.name === 'demo' && isCodexMissing) {
    remarks.push(
      `${missing}: the demo agent is used, which does no real work. For real work: ${remedy}; then --agent codex`,
    );
  }
  return remarks;
}

interface NextSteps {
  readonly files: readonly NewFile[];
  readonly dir: string;
  /** How the user called Baton. */
  readonly command: string;
  readonly choices: StarterChoices;
  readonly io: Io;
}

export function formatNextSteps({ files, dir, command, choices, io }: NextSteps): string {
  const paths = files.map(({ path }) => `  ${shorter(join(dir, path), io.cwd)}\n`).join('');
  const path = shorter(join(dir, 'WORKFLOW.md'), io.cwd);
  const file = path === 'WORKFLOW.md' ? '' : ` ${shellWord(path)}`;
  const hasExample = files.some((file) => file.path.startsWith('backlog/') || file.path === TRACKER_BOARD);
  const next = hasExample ? `--issue ${EXAMPLE_ISSUE}` : '--dry-run';
  const { agent, project } = choices;
  const who = agent.name === 'demo' ? 'The demo agent' : 'Codex';
  const where = project === null ? '' : ` of ${project.name}`;
  const what = `\n${who} works on issues${where} ${gate(choices)}, two at a time.\n`;
  return `Wrote\n${paths}${what}${missingVariables(choices, io)}Next:\n  ${command} check${file}\n  ${command} run${file} ${next}\n`;
}

function gate({ tracker, label }: StarterChoices): string {
  const word = JSON.stringify(label);
  return tracker.kind === 'redmine' ? `in the category ${word} (create it in the project)` : `with the label ${word}`;
}

/** Names the variables that the daemon needs; values are neither read nor printed. */
function missingVariables({ tracker }: StarterChoices, { env }: Io): string {
  const missing = tracker.variables.filter((names) => names.every((name) => !env[name]?.trim()));
  if (missing.length === 0) return '';
  const names = missing.map((names) => names.join(' or ')).join(' and ');
  return `First set ${names} where Baton is started:\n  ${tracker.token}.\n`;
}
