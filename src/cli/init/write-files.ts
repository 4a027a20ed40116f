import { readFileSync } from 'node:fs';
import { mkdir, rm, rmdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { shellWord } from '../../domain/shell-word.js';
import { newBacklog } from '../../tracker/local/new-backlog.js';
import { INSTALL_CODEX } from '../check/agent-findings.js';
import { type Io, shorter } from '../io.js';
import type { StarterChoices, Surroundings } from './choices.js';

export interface NewFile {
  /** Relative to the folder. */
  readonly path: string;
  readonly text: string;
}

/** Creates all of the files or none: what is there already is never touched, and on a failure what was made goes again. */
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
    // Only empty ones go: somebody may have put something there meanwhile.
    for (const folder of madeFolders.sort((a, b) => b.length - a.length)) await rmdir(folder).catch(() => {});
    throw error;
  }
}

async function create(path: string, text: string): Promise<void> {
  try {
    await writeFile(path, text, { flag: 'wx' });
  } catch (error) {
    // On a full disk half of it is there, and it is ours.
    const isOurs = (error as NodeJS.ErrnoException).code === 'ENOSPC';
    if (isOurs) await rm(path, { force: true });
    throw error;
  }
}

function foldersUpTo(folder: string, first: string): string[] {
  return folder === first || dirname(folder) === folder ? [folder] : [folder, ...foldersUpTo(dirname(folder), first)];
}

const TEMPLATES = new URL('../../../templates/', import.meta.url);

/** Where the skill of the starter with steps is in a project. */
export const STARTER_SKILL = '.baton/capabilities/skill/leftovers';

export function starterSkill(): NewFile[] {
  return ['capability.yaml', 'run.mjs'].map((name) => ({
    path: `${STARTER_SKILL}/${name}`,
    text: shipped(`capabilities/skill/leftovers/${name}`),
  }));
}

/** Where the program between Baton and a tracker of one's own is in a project. */
const TRACKER_PROGRAM = 'tracker.mjs';
/** Where that program keeps its issues until it is rewritten. */
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

/** Small and harmless, so that the first run has something to do. */
function exampleIssue(hasRepository: boolean) {
  const description = hasRepository
    ? 'Look at what this repository is, and write three short sentences for a newcomer into `HELLO-BATON.md` at its top: what it is for, how it is built, how its tests are run. Change nothing else.'
    : 'Write a haiku about handing work on into `HELLO-BATON.md`. Change nothing else.';
  return { id: EXAMPLE_ISSUE, title: 'Say hello', description };
}

/** What a person should know before the first run. */
export function startRemarks({ git, agents }: Surroundings, { repoUrl, hadSecret, agent }: StarterChoices): string[] {
  const said: string[] = [];
  if (hadSecret) {
    said.push(
      'the address of the repository held a login: it was left out. Let git log in by ssh or a credential helper',
    );
  }
  if (repoUrl === null) {
    const nothing = git.top === null ? 'this is not a git repository' : 'there is no repository to work on';
    const why = git.hasGit ? (git.refusal ?? nothing) : 'git is not installed';
    const works = 'agents start in empty folders, and what they make is copied to baton-results';
    const first = git.hasGit ? '`git init`, commit' : 'install git';
    said.push(`${why}: ${works}. To work on code: ${first}, remove WORKFLOW.md and run init again`);
  } else if (repoUrl === git.top) {
    said.push(
      'there is no remote: agents clone this folder, and their work arrives here as branches named baton/<issue>',
    );
    if (!git.hasCommits) said.push('there are no commits yet: make the first one before the first run');
    else if (git.branch === null) said.push('no branch is checked out: check one out before the first run');
  }
  const isCodexMissing = agents.some(({ name, isInstalled }) => name === 'codex' && !isInstalled);
  const missing = 'codex is not found by a login shell (`bash -lc`), which is what starts agents';
  const remedy = `${INSTALL_CODEX}, or set PATH in ~/.profile`;
  if (!agent.isInstalled) said.push(`${missing}. ${remedy}`);
  else if (agent.name === 'demo' && isCodexMissing) {
    said.push(
      `${missing}: the demo agent does the work, which only plays. For real work: ${remedy}; then --agent codex`,
    );
  }
  return said;
}

interface Written {
  readonly files: readonly NewFile[];
  readonly dir: string;
  /** How the person calls us. */
  readonly command: string;
  readonly decisions: StarterChoices;
  readonly io: Io;
}

export function formatNextSteps({ files, dir, command, decisions, io }: Written): string {
  const paths = files.map(({ path }) => `  ${shorter(join(dir, path), io.cwd)}\n`).join('');
  const path = shorter(join(dir, 'WORKFLOW.md'), io.cwd);
  const file = path === 'WORKFLOW.md' ? '' : ` ${shellWord(path)}`;
  const hasExample = files.some(({ path: one }) => one.startsWith('backlog/') || one === TRACKER_BOARD);
  const next = hasExample ? `--issue ${EXAMPLE_ISSUE}` : '--dry-run';
  const { agent, project } = decisions;
  const who = agent.name === 'demo' ? 'the demo agent' : agent.name;
  const where = project === null ? '' : ` of ${project.name}`;
  const what = `\nIssues${where} ${gate(decisions)} are worked on by ${who}, two at a time.\n`;
  return `Wrote\n${paths}${what}${unset(decisions, io)}Next:\n  ${command} check${file}\n  ${command} run${file} ${next}\n`;
}

function gate({ tracker, label }: StarterChoices): string {
  const word = JSON.stringify(label);
  return tracker.kind === 'redmine' ? `in the category ${word} (make it in the project)` : `with the label ${word}`;
}

/** What the daemon will miss: the value itself is never asked for, nor shown. */
function unset({ tracker }: StarterChoices, { env }: Io): string {
  const missing = tracker.variables.filter((names) => names.every((name) => !env[name]?.trim()));
  if (missing.length === 0) return '';
  const names = missing.map((names) => names.join(' or ')).join(' and ');
  return `First set ${names} where Baton is started:\n  ${tracker.token}.\n`;
}
