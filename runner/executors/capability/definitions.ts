import { readdir, realpath, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  type Capability,
  type CapabilityExecutor,
  type CapabilityIndex,
  type CapabilityProblem,
  type CapabilitySource,
  executorFor,
  findCapability,
} from '../../../src/domain/capabilities.js';
import { BatonError } from '../../../src/domain/errors.js';
import { readDefinition, validateCapability, validateExecutor } from './definition-file.js';

const BUILT_IN = fileURLToPath(new URL('built-in', import.meta.url));
const EXECUTORS = 'executors';
const MAX_FOLDERS = 500;

interface DiscoveryOptions {
  readonly projectDir: string;
  readonly homeDir: string;
  /** The folder of capabilities that ship with Baton. */
  readonly builtInDir?: string;
}

/**
 * Finds executors and capabilities. The nearest source is read last, because later definitions win. In each source `.codebolt`, the folder
 * of existing packages, is read before `.baton`. Never throws: a definition that cannot be used is a problem in the index.
 */
export async function discoverCapabilities(options: DiscoveryOptions): Promise<CapabilityIndex> {
  const builder = new IndexBuilder();
  const { projectDir, homeDir, builtInDir = BUILT_IN } = options;
  const trees: readonly [CapabilitySource, string][] = [
    ['built-in', builtInDir],
    ...treesOf('global', homeDir),
    ...treesOf('project', projectDir),
  ];
  for (const [source, tree] of trees) await readTree(source, tree, builder);
  return builder.index();
}

function treesOf(source: CapabilitySource, dir: string): [CapabilitySource, string][] {
  return ['.codebolt', '.baton'].map((name) => [source, join(dir, name, 'capabilities')]);
}

async function readTree(source: CapabilitySource, tree: string, builder: IndexBuilder): Promise<void> {
  for (const type of await foldersIn(tree, builder)) {
    for (const name of await foldersIn(join(tree, type), builder)) {
      const folder = join(tree, type, name);
      if (type === EXECUTORS) await readExecutor(source, folder, builder);
      else await readCapability(source, folder, type, builder);
    }
  }
}

async function readExecutor(source: CapabilitySource, folder: string, builder: IndexBuilder): Promise<void> {
  const definition = await readDefinition(folder, 'executor');
  if (definition.kind === 'missing') return builder.error(`${folder} has no executor.yaml`);
  if (definition.kind === 'broken') return builder.error(`${definition.file} ${definition.reason}`);
  const checked = validateExecutor(definition.content, { dir: await realFolder(folder), source });
  if ('problem' in checked) return builder.error(`${definition.file} ${checked.problem}`);
  const executor = checked.value;
  const entry = join(executor.dir, executor.entryPoint);
  if (!(await isFile(entry)))
    builder.warning(`${definition.file} names ${entry}, which does not exist; build the executor`);
  builder.addExecutor(executor);
}

async function readCapability(
  source: CapabilitySource,
  folder: string,
  type: string,
  builder: IndexBuilder,
): Promise<void> {
  const definition = await readDefinition(folder, 'capability');
  if (definition.kind === 'missing') return builder.error(`${folder} has no capability.yaml`);
  if (definition.kind === 'broken') return builder.error(`${definition.file} ${definition.reason}`);
  const checked = validateCapability(definition.content, { dir: await realFolder(folder), source });
  if ('problem' in checked) return builder.error(`${definition.file} ${checked.problem}`);
  if (checked.value.type !== type) {
    builder.warning(
      `${definition.file} has type ${checked.value.type} but is in the folder of ${type}; the type in the file is used`,
    );
  }
  builder.addCapability(checked.value);
}

/** The sorted names of the folders in a folder, links to folders included. Returns none when the folder does not exist. */
async function foldersIn(folder: string, builder: IndexBuilder): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT' && error.code !== 'ENOTDIR')
      builder.error(`${folder} cannot be read: ${error.message}`);
    return [];
  });
  const candidates = entries.filter((entry) => !entry.name.startsWith('.'));
  const names: string[] = [];
  for (const entry of candidates) {
    const isFolder = entry.isSymbolicLink() ? await isDirectory(join(folder, entry.name)) : entry.isDirectory();
    if (isFolder) names.push(entry.name);
  }
  names.sort();
  if (names.length > MAX_FOLDERS)
    builder.error(`${folder} holds more than ${MAX_FOLDERS} folders; the others are ignored`);
  return names.slice(0, MAX_FOLDERS);
}

/** Resolves links: a process cannot be started in a folder that is a link. */
function realFolder(folder: string): Promise<string> {
  return realpath(folder).catch(() => folder);
}

function isDirectory(path: string): Promise<boolean> {
  return stat(path).then(
    (stats) => stats.isDirectory(),
    () => false,
  );
}

function isFile(path: string): Promise<boolean> {
  return stat(path).then(
    (stats) => stats.isFile(),
    () => false,
  );
}

const MAX_PROBLEMS = 500;

/** Collects definitions in the order in which they are found. Pure. */
class IndexBuilder {
  readonly #executors: CapabilityExecutor[] = [];
  readonly #capabilities = new Map<string, Capability>();
  readonly #problems: CapabilityProblem[] = [];

  addExecutor(executor: CapabilityExecutor): void {
    for (const type of executor.supportedTypes) {
      const other = this.#executors.findLast((each) => each.supportedTypes.includes(type));
      if (other?.source === executor.source) {
        this.warning(`${other.dir} and ${executor.dir} both run capabilities of type ${type}; the latter is used`);
      }
    }
    this.#executors.push(executor);
  }

  addCapability(capability: Capability): void {
    const key = JSON.stringify([capability.type, capability.name]);
    const other = this.#capabilities.get(key);
    if (other?.source === capability.source) {
      const what = `the capability ${capability.name} of type ${capability.type}`;
      this.warning(`${other.dir} and ${capability.dir} are both ${what}; the latter is used`);
    }
    this.#capabilities.set(key, capability);
  }

  error(text: string): void {
    this.#note({ level: 'error', text });
  }

  warning(text: string): void {
    this.#note({ level: 'warning', text });
  }

  index(): CapabilityIndex {
    const capabilities = [...this.#capabilities.entries()].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, one]) => one);
    return { executors: this.#executors, capabilities, problems: this.#problems };
  }

  #note(problem: CapabilityProblem): void {
    if (this.#problems.length < MAX_PROBLEMS) this.#problems.push(problem);
  }
}

/** Returns a capability and its executor. Throws `CAPABILITY_NOT_FOUND` or `EXECUTOR_NOT_FOUND`. */
export function chooseCapability(
  index: CapabilityIndex,
  type: string,
  name: string,
): { readonly capability: Capability; readonly executor: CapabilityExecutor } {
  const capability = findCapability(index, type, name);
  const executor = executorFor(index, type, capability?.executor ?? null);
  if (executor === null) {
    const required = capability?.executor;
    const which = required
      ? `named ${required}, which the ${type} ${name} requires`
      : `for capabilities of type ${type}`;
    throw new BatonError('EXECUTOR_NOT_FOUND', `there is no executor ${which}${skipped(index)}`, { type, name });
  }
  if (capability === null) {
    throw new BatonError('CAPABILITY_NOT_FOUND', `there is no ${type} named ${name}${skipped(index)}`, { type, name });
  }
  return { capability, executor };
}

export function chooseExecutor(index: CapabilityIndex, name: string): CapabilityExecutor {
  const executor = executorFor(index, '', name);
  if (executor !== null) return executor;
  throw new BatonError('EXECUTOR_NOT_FOUND', `there is no executor named ${name}${skipped(index)}`, { name });
}

/** Reads the definition of an executor again, because it may have changed. Throws `INVALID_ACTION_BLOCK`. */
export async function freshExecutor({ dir, source }: CapabilityExecutor): Promise<CapabilityExecutor> {
  const definition = await readDefinition(dir, 'executor');
  if (definition.kind === 'missing') throw new BatonError('INVALID_ACTION_BLOCK', `${dir} has no executor.yaml`);
  if (definition.kind === 'broken')
    throw new BatonError('INVALID_ACTION_BLOCK', `${definition.file} ${definition.reason}`);
  const checked = validateExecutor(definition.content, { dir, source });
  if ('value' in checked) return checked.value;
  throw new BatonError('INVALID_ACTION_BLOCK', `${definition.file} ${checked.problem}`);
}

function skipped({ problems }: CapabilityIndex): string {
  const count = problems.filter(({ level }) => level === 'error').length;
  return count === 0 ? '' : `; ${count} could not be read, see \`baton capability list\``;
}
