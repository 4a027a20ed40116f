import { readdir, realpath, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { CapabilityIndex, CapabilitySource } from '../../../src/domain/capabilities.js';
import { IndexBuilder } from './index-builder.js';
import { readDefinition } from './read-definition.js';
import { validateCapability, validateExecutor } from './validate-definition.js';

const BUILT_IN = fileURLToPath(new URL('built-in', import.meta.url));
const EXECUTORS = 'executors';
const MAX_FOLDERS = 500;

export interface DiscoveryOptions {
  readonly projectDir: string;
  readonly homeDir: string;
  /** Ships with the code. */
  readonly builtInDir?: string;
}

/**
 * Looks for executors and capabilities, the nearest source last, as later ones win. In one source `.codebolt`, the folder of
 * existing packages, comes before our own. Never throws: what cannot be used is a problem in the index.
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
  const found = await readDefinition(folder, 'executor');
  if (found.kind === 'missing') return builder.error(`${folder} has no executor.yaml`);
  if (found.kind === 'broken') return builder.error(`${found.file} ${found.reason}`);
  const checked = validateExecutor(found.content, { dir: await realFolder(folder), source });
  if ('problem' in checked) return builder.error(`${found.file} ${checked.problem}`);
  const executor = checked.value;
  const entry = join(executor.dir, executor.entryPoint);
  if (!(await isFile(entry))) builder.warning(`${found.file} names ${entry}, which is not there; build the executor`);
  builder.addExecutor(executor);
}

async function readCapability(
  source: CapabilitySource,
  folder: string,
  type: string,
  builder: IndexBuilder,
): Promise<void> {
  const found = await readDefinition(folder, 'capability');
  if (found.kind === 'missing') return builder.error(`${folder} has no capability.yaml`);
  if (found.kind === 'broken') return builder.error(`${found.file} ${found.reason}`);
  const checked = validateCapability(found.content, { dir: await realFolder(folder), source });
  if ('problem' in checked) return builder.error(`${found.file} ${checked.problem}`);
  if (checked.value.type !== type) {
    builder.warning(`${found.file} says type ${checked.value.type} and lies in the folder of ${type}; the file counts`);
  }
  builder.addCapability(checked.value);
}

/** Names of the folders in a folder, sorted; links to folders count. A folder that is not there has none. */
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
    builder.error(`${folder} holds more than ${MAX_FOLDERS} folders; the rest is not read`);
  return names.slice(0, MAX_FOLDERS);
}

/** A process cannot be started in a folder that is a link. */
function realFolder(folder: string): Promise<string> {
  return realpath(folder).catch(() => folder);
}

function isDirectory(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
}

function isFile(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isFile(),
    () => false,
  );
}
