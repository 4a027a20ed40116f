import { lstat, stat } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { compilePrompts } from '../../templates/compile-prompts.js';
import { BatonError } from '../domain/errors.js';
import { neutralise } from '../domain/neutralise.js';
import { ADAPTERS } from '../tracker/adapters.js';
import { createTrackerRegistry, type TrackerRegistry } from '../tracker/registry.js';
import { parseWorkflow } from '../workflow/load-workflow.js';
import { INSTALL_CODEX } from './check/agent-findings.js';
import { Abandoned } from './init/ask.js';
import { backlogFiles, EXAMPLE_ISSUE } from './init/backlog-files.js';
import { lookAround, type Surroundings } from './init/choices.js';
import { type Decisions, decideStarter } from './init/decide-starter.js';
import { fillStarter } from './init/fill-starter.js';
import { STARTER_SKILL, starterSkill } from './init/starter-skill.js';
import { type NewFile, writeNew } from './init/write-new.js';
import { shellWord, shorter } from './invocation.js';
import type { Io } from './io.js';

export interface InitOptions {
  /** Where WORKFLOW.md is to be. */
  readonly dir: string;
  readonly tracker?: string | undefined;
  readonly agent?: string | undefined;
  readonly label?: string | undefined;
  /** `none`: no repository. */
  readonly repoUrl?: string | undefined;
  readonly baseBranch?: string | undefined;
  /** Writes a workflow that lists steps, and the skill that it uses. */
  readonly steps?: boolean | undefined;
  /** Takes every proposal without asking. */
  readonly yes: boolean;
  /** How the person calls us (`invocation`). */
  readonly command: string;
  /** Shell command of the agent that ships with Baton. */
  readonly demoAgentCommand?: string | undefined;
}

/** Writes a first WORKFLOW.md, and for the local tracker a first issue. Never overwrites; on any failure nothing is left. */
export async function init(
  options: InitOptions,
  io: Io,
  registry: TrackerRegistry = createTrackerRegistry(ADAPTERS),
): Promise<number> {
  const dir = resolve(io.cwd, options.dir);
  const complain = (text: string) => void io.stderr.write(`baton: ${neutralise(text)}\n`);
  try {
    await refuseFolder(dir, io);
    const around = await lookAround(dir, io, registry, options.demoAgentCommand);
    if (!io.isTTY && !options.yes) io.stdout.write('No terminal to ask on: taking the proposals.\n');
    const decisions = await decideStarter(options, around, io);
    const files = await filesFor(dir, decisions, options.steps ?? false, io, registry);
    await writeNew(dir, files);
    for (const text of remarks(around, decisions)) complain(text);
    io.stdout.write(farewell(files, dir, options, decisions, io));
    return 0;
  } catch (error) {
    if (error instanceof Abandoned) {
      io.stdout.write('\n');
      complain('nobody answered; nothing was written');
      return 1;
    }
    if (error instanceof BatonError && error.code === 'invalid_workflow_config') {
      complain(error.message);
      return 2;
    }
    const { code, path = dir, message } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST') {
      complain(`${shorter(path, io.cwd)} is there already; nothing was written`);
      return 2;
    }
    const isForbidden = code === 'EACCES' || code === 'EPERM' || code === 'EROFS';
    const why = isForbidden ? 'may not be written to; check its rights, or go to another folder' : `failed: ${message}`;
    complain(`${isForbidden ? dir : 'init'} ${why}. Nothing was written`);
    return 1;
  }
}

async function refuseFolder(dir: string, io: Io): Promise<void> {
  const isFolder = await stat(dir).then(
    (stats) => stats.isDirectory(),
    () => false,
  );
  if (!isFolder) throw new BatonError('invalid_workflow_config', `${dir} is no folder; make it first`);
  // Scripts in WORKFLOW.md name it, and a line break there would be one in the script.
  if (neutralise(dir) !== dir) {
    throw new BatonError('invalid_workflow_config', `the name of ${dir} holds control characters; rename the folder`);
  }
  const target = join(dir, 'WORKFLOW.md');
  if (!(await isThere(target))) return;
  const text = `${shorter(target, io.cwd)} is there already and is never overwritten: edit it, or move it away first`;
  throw new BatonError('invalid_workflow_config', text);
}

async function filesFor(
  dir: string,
  decisions: Decisions,
  hasSteps: boolean,
  io: Io,
  registry: TrackerRegistry,
): Promise<NewFile[]> {
  const { tracker, agent, label, repoUrl, baseBranch } = decisions;
  const resultsDir = join(dir, 'baton-results');
  const values = { label, command: agent.command, repoUrl, baseBranch, resultsDir };
  const text = fillStarter(tracker, values, hasSteps);
  const path = join(dir, 'WORKFLOW.md');
  // What we write must load: an odd name of a folder or branch is our business, not the person's.
  const trackerKinds = new Map(registry.kinds.map((kind) => [kind, registry.entry(kind).defaults]));
  const source = { path, bytes: Buffer.from(text), hash: '' };
  const { workflow } = await parseWorkflow(source, { env: io.env, homeDir: io.homeDir, trackerKinds });
  compilePrompts(workflow);
  const isNewBacklog = tracker === 'local' && !(await isThere(join(dir, 'backlog')));
  const backlog = isNewBacklog ? backlogFiles(basename(dir), label, repoUrl !== null, Date.now()) : [];
  const isSkillNew = hasSteps && !(await isThere(join(dir, STARTER_SKILL)));
  return [...backlog, ...(isSkillNew ? starterSkill() : []), { path: 'WORKFLOW.md', text }];
}

/** What a person should know before the first run. */
function remarks({ git, agents }: Surroundings, { repoUrl, hadSecret, agent }: Decisions): string[] {
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

function farewell(files: readonly NewFile[], dir: string, options: InitOptions, decisions: Decisions, io: Io): string {
  const paths = files.map(({ path }) => `  ${shorter(join(dir, path), io.cwd)}\n`).join('');
  const path = shorter(join(dir, 'WORKFLOW.md'), io.cwd);
  const file = path === 'WORKFLOW.md' ? '' : ` ${shellWord(path)}`;
  const next = files.some(({ path: one }) => one.startsWith('backlog')) ? `--issue ${EXAMPLE_ISSUE}` : '--dry-run';
  const { label, agent } = decisions;
  const who = agent.name === 'demo' ? 'the demo agent' : agent.name;
  const what = `\nIssues with the label ${JSON.stringify(label)} are worked on by ${who}, two at a time.\n`;
  return `Wrote\n${paths}${what}Next:\n  ${options.command} check${file}\n  ${options.command} run${file} ${next}\n`;
}

function isThere(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    () => false,
  );
}
