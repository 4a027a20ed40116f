import { lstat, stat } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { compilePrompts } from '../../templates/prompts.js';
import { BatonError } from '../domain/errors.js';
import { neutralise } from '../text/neutralise.js';
import { ADAPTERS } from '../tracker/adapters.js';
import { createTrackerRegistry, type TrackerRegistry } from '../tracker/registry.js';
import { parseWorkflow } from '../workflow/load-workflow.js';
import { chooseStarter, readSurroundings, type StarterChoices } from './init/choices.js';
import { fillStarter } from './init/starters.js';
import {
  backlogFiles,
  formatNextSteps,
  type NewFile,
  STARTER_SKILL,
  starterSkill,
  startRemarks,
  trackerProgram,
  writeNew,
} from './init/write-files.js';
import type { Io } from './io.js';
import { shorter } from './io.js';
import { PromptClosed } from './prompt.js';

export interface InitOptions {
  /** Where WORKFLOW.md is to be. */
  readonly dir: string;
  readonly tracker?: string | undefined;
  /** Which project of the tracker: its address, or how the tracker names it. */
  readonly project?: string | undefined;
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

const REFUSALS: ReadonlySet<string> = new Set(['invalid_workflow_config', 'invalid_tracker_config']);

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
    const around = await readSurroundings(dir, io, registry, options.demoAgentCommand);
    if (!io.isTTY && !options.yes) io.stdout.write('No terminal to ask on: taking the proposals.\n');
    const decisions = await chooseStarter(options, around, io);
    const files = await filesFor(dir, decisions, options.steps ?? false, io, registry);
    await writeNew(dir, files);
    for (const text of startRemarks(around, decisions)) complain(text);
    io.stdout.write(formatNextSteps({ files, dir, command: options.command, decisions, io }));
    return 0;
  } catch (error) {
    if (error instanceof PromptClosed) {
      io.stdout.write('\n');
      complain('nobody answered; nothing was written');
      return 1;
    }
    if (error instanceof BatonError && REFUSALS.has(error.code)) {
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
  decisions: StarterChoices,
  hasSteps: boolean,
  io: Io,
  registry: TrackerRegistry,
): Promise<NewFile[]> {
  const { tracker, project, agent, label, repoUrl, baseBranch } = decisions;
  const resultsDir = join(dir, 'baton-results');
  const values = { tracker, project, label, command: agent.command, repoUrl, baseBranch, resultsDir };
  const text = fillStarter(values, hasSteps);
  await refuseFaulty(join(dir, 'WORKFLOW.md'), text, io, registry);
  const isNew = async (path: string) => !(await isThere(join(dir, path)));
  const makesBacklog = tracker.kind === 'local' && (await isNew('backlog'));
  const program = tracker.kind === 'command' ? trackerProgram(label, repoUrl !== null) : [];
  const areProgramsNew = await Promise.all(program.map(({ path }) => isNew(path)));
  const makesSkill = hasSteps && (await isNew(STARTER_SKILL));
  return [
    ...(makesBacklog ? backlogFiles(basename(dir), label, repoUrl !== null, Date.now()) : []),
    ...program.filter((_, index) => areProgramsNew[index]),
    ...(makesSkill ? starterSkill() : []),
    { path: 'WORKFLOW.md', text },
  ];
}

/** What we write must load, and the tracker must take it: an odd name of a folder or branch is our business, not the person's. */
async function refuseFaulty(path: string, text: string, io: Io, registry: TrackerRegistry): Promise<void> {
  const trackerKinds = new Map(registry.kinds.map((kind) => [kind, registry.entry(kind).defaults]));
  const source = { path, bytes: Buffer.from(text), hash: '' };
  const { workflow } = await parseWorkflow(source, { env: io.env, homeDir: io.homeDir, trackerKinds });
  compilePrompts(workflow);
  const config = workflow.config.tracker;
  const tracker = registry.entry(config.kind).create({
    ...{ config, env: io.env, dir: workflow.dir, settings: () => config, mask: (said: string) => said },
    // Nothing is asked yet: whether the variables are set is for the check to say.
    secret: () => 'not-needed-yet',
    nowMs: () => 0,
    start: () => Promise.reject(new Error('nothing is started yet')),
  });
  await tracker.close();
}

function isThere(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    () => false,
  );
}
