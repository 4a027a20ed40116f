import { lstat, stat } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { compilePrompts } from '../../templates/prompts.js';
import { BatonError } from '../domain/errors.js';
import { neutralise } from '../text/neutralise.js';
import { ADAPTERS } from '../tracker/adapters.js';
import { createTrackerRegistry, type TrackerRegistry } from '../tracker/registry.js';
import { parseWorkflow } from '../workflow/load-workflow.js';
import { chooseStarter, type StarterChoices, type StarterFlags } from './init/choices.js';
import { fillStarter } from './init/starters.js';
import { readSurroundings } from './init/surroundings.js';
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
import { type Io, printProblem, shorter } from './io.js';
import { PromptClosed } from './prompt.js';

export interface InitOptions extends StarterFlags {
  /** The folder of WORKFLOW.md. */
  readonly dir: string;
  /** Writes a workflow of several steps, and the skill that it uses. */
  readonly steps?: boolean | undefined;
  /** How the user called Baton (`invocation`). */
  readonly command: string;
  /** Shell command of the agent that ships with Baton. */
  readonly demoAgentCommand?: string | undefined;
}

const REFUSALS: ReadonlySet<string> = new Set(['invalid_workflow_config', 'invalid_tracker_config']);

/** Writes a WORKFLOW.md, and for the local tracker a first issue. Never overwrites a file; after a failure nothing is left. */
export async function init(
  options: InitOptions,
  io: Io,
  registry: TrackerRegistry = createTrackerRegistry(ADAPTERS),
): Promise<number> {
  const dir = resolve(io.cwd, options.dir);
  try {
    await refuseFolder(dir, io);
    const surroundings = await readSurroundings(dir, io, registry, options.demoAgentCommand);
    if (!io.isTTY && !options.yes) io.stdout.write('There is no terminal for questions: the proposals are taken.\n');
    const choices = await chooseStarter(options, surroundings, io);
    const files = await filesFor(dir, choices, options.steps ?? false, io, registry);
    await writeNew(dir, files);
    for (const text of startRemarks(surroundings, choices)) printProblem(neutralise(text), 0, io);
    io.stdout.write(formatNextSteps({ files, dir, command: options.command, choices, io }));
    return 0;
  } catch (error) {
    if (error instanceof PromptClosed) {
      io.stdout.write('\n');
      return printProblem('no answer was given; nothing was written', 1, io);
    }
    if (error instanceof BatonError && REFUSALS.has(error.code)) {
      return printProblem(neutralise(error.message), 2, io);
    }
    const { code, path = dir, message } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST') {
      return printProblem(neutralise(`${shorter(path, io.cwd)} already exists; nothing was written`), 2, io);
    }
    const isForbidden = code === 'EACCES' || code === 'EPERM' || code === 'EROFS';
    const why = isForbidden ? 'is not writable; check its permissions, or use another folder' : `failed: ${message}`;
    return printProblem(neutralise(`${isForbidden ? dir : 'init'} ${why}. Nothing was written`), 1, io);
  }
}

async function refuseFolder(dir: string, io: Io): Promise<void> {
  const isFolder = await stat(dir).then(
    (stats) => stats.isDirectory(),
    () => false,
  );
  if (!isFolder) throw new BatonError('invalid_workflow_config', `${dir} is no folder; create it first`);
  // WORKFLOW.md names the folder in scripts, where a line break would end the command.
  if (neutralise(dir) !== dir) {
    throw new BatonError(
      'invalid_workflow_config',
      `the name of ${dir} contains control characters; rename the folder`,
    );
  }
  const target = join(dir, 'WORKFLOW.md');
  if (!(await exists(target))) return;
  const text = `${shorter(target, io.cwd)} already exists and is never overwritten: edit it, or move it away first`;
  throw new BatonError('invalid_workflow_config', text);
}

async function filesFor(
  dir: string,
  choices: StarterChoices,
  hasSteps: boolean,
  io: Io,
  registry: TrackerRegistry,
): Promise<NewFile[]> {
  const { tracker, project, agent, label, repoUrl, baseBranch } = choices;
  const resultsDir = join(dir, 'baton-results');
  const values = { tracker, project, label, command: agent.command, repoUrl, baseBranch, resultsDir };
  const text = fillStarter(values, hasSteps);
  await refuseFaulty(join(dir, 'WORKFLOW.md'), text, io, registry);
  const isNew = async (path: string) => !(await exists(join(dir, path)));
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

/** Checks that the written workflow loads and that the tracker accepts it, whatever the names of folders and branches are. */
async function refuseFaulty(path: string, text: string, io: Io, registry: TrackerRegistry): Promise<void> {
  const trackerKinds = new Map(registry.kinds.map((kind) => [kind, registry.entry(kind).defaults]));
  const source = { path, bytes: Buffer.from(text), hash: '' };
  const { workflow } = await parseWorkflow(source, { env: io.env, homeDir: io.homeDir, trackerKinds });
  compilePrompts(workflow);
  const config = workflow.config.tracker;
  const tracker = await registry.entry(config.kind).create({
    ...{ config, env: io.env, dir: workflow.dir, settings: () => config, mask: (text: string) => text },
    // `baton check` reports missing variables.
    secret: () => 'not-needed-yet',
    nowMs: () => 0,
    start: () => Promise.reject(new Error('nothing is started yet')),
  });
  await tracker.close();
}

function exists(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    () => false,
  );
}
