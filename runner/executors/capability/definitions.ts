import { type FileHandle, readdir, realpath, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  type BrokenExecutor,
  brokenExecutorFor,
  type Capability,
  type CapabilityExecutor,
  type CapabilityIndex,
  type CapabilityProblem,
  type CapabilitySource,
  executorFor,
  findCapability,
} from '../../../src/domain/capabilities.js';
import { BatonError } from '../../../src/domain/errors.js';
import { fieldsOf, listOf } from '../../../src/domain/json.js';
import { type Definition, readDefinition, validateCapability, validateExecutor } from './definition-file.js';

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
  const broken = { names: [basename(folder)], types: null };
  if (definition.kind === 'broken')
    return builder.addBroken({ ...broken, text: `${definition.file} ${definition.reason}` });
  const { content, file } = definition;
  const checked = validateExecutor(content, { dir: await realFolder(folder), source });
  if ('problem' in checked) {
    const { name, supportedTypes } = fieldsOf(content);
    const names = [...broken.names, name].filter((text) => typeof text === 'string');
    const written = typeof supportedTypes === 'string' ? [supportedTypes] : listOf(supportedTypes);
    const types = written.filter((type) => typeof type === 'string');
    return builder.addBroken({ names, types: types.length > 0 ? types : null, text: `${file} ${checked.problem}` });
  }
  const executor = checked.value;
  const entry = join(executor.dir, executor.entryPoint);
  if (!(await isFile(entry))) builder.warning(`${file} names ${entry}, which does not exist; build the executor`);
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
  readonly #broken: BrokenExecutor[] = [];

  addExecutor(executor: CapabilityExecutor): void {
    for (const type of executor.supportedTypes) {
      const other = this.#executors.findLast((each) => each.supportedTypes.includes(type));
      if (other?.source === executor.source) {
        this.warning(`${other.dir} and ${executor.dir} both run capabilities of type ${type}; the latter is used`);
      }
    }
    this.#executors.push(executor);
  }

  addBroken(executor: BrokenExecutor): void {
    if (this.#broken.length < MAX_PROBLEMS) this.#broken.push(executor);
    this.error(executor.text);
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
    return {
      executors: this.#executors,
      capabilities,
      problems: this.#problems,
      brokenExecutors: this.#broken,
    };
  }

  #note(problem: CapabilityProblem): void {
    if (this.#problems.length < MAX_PROBLEMS) this.#problems.push(problem);
  }
}

/** Returns a capability and its executor. Throws `CAPABILITY_NOT_FOUND`, `EXECUTOR_NOT_FOUND` or `INVALID_ACTION_BLOCK`. */
export function chooseCapability(
  index: CapabilityIndex,
  type: string,
  name: string,
): { readonly capability: Capability; readonly executor: CapabilityExecutor } {
  const capability = findCapability(index, type, name);
  const pinned = capability?.executor ?? null;
  const executor = executorFor(index, type, pinned);
  if (executor === null) {
    const which = pinned ? `named ${pinned}, which the ${type} ${name} requires` : `for capabilities of type ${type}`;
    throw missingExecutor(index, type, pinned, which);
  }
  if (capability === null) {
    throw new BatonError('CAPABILITY_NOT_FOUND', `there is no ${type} named ${name}${skipped(index)}`, { type, name });
  }
  return { capability, executor };
}

/** Throws `EXECUTOR_NOT_FOUND` or `INVALID_ACTION_BLOCK`. */
export function chooseExecutor(index: CapabilityIndex, name: string): CapabilityExecutor {
  const executor = executorFor(index, '', name);
  if (executor === null) throw missingExecutor(index, '', name, `named ${name}`);
  return executor;
}

function missingExecutor(index: CapabilityIndex, type: string, pinned: string | null, which: string): BatonError {
  const broken = brokenExecutorFor(index, type, pinned);
  if (broken !== null)
    return new BatonError('INVALID_ACTION_BLOCK', `there is no valid executor ${which}: ${broken.text}`);
  return new BatonError('EXECUTOR_NOT_FOUND', `there is no executor ${which}${skipped(index)}`);
}

/** Reads the definition of an executor again, because it may have changed. Throws `INVALID_ACTION_BLOCK`. */
export async function freshExecutor({ dir, source }: CapabilityExecutor): Promise<CapabilityExecutor> {
  return validated(await readDefinition(dir, 'executor'), dir, source);
}

const NO_DEFINITION = { version: '', description: '', supportedTypes: [], author: '' };

/**
 * The executor in a folder of the workspace. Without an executor.yaml its entry point is dist/index.js. The agent can write to the
 * folder, so its files are opened by `open`, which confines them to the workspace. Throws `INVALID_ACTION_BLOCK`.
 */
export async function executorInFolder(
  dir: string,
  open: (path: string) => Promise<FileHandle>,
): Promise<CapabilityExecutor> {
  const definition = await readDefinition(dir, 'executor', open);
  if (definition.kind !== 'missing') return validated(definition, dir, 'project');
  return { ...NO_DEFINITION, name: basename(dir), entryPoint: 'dist/index.js', dir, source: 'project' };
}

function validated(definition: Definition, dir: string, source: CapabilitySource): CapabilityExecutor {
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
