import { constants } from 'node:fs';
import { type FileHandle, open, readdir, realpath, stat } from 'node:fs/promises';
import { isAbsolute, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Parser, parseDocument } from 'yaml';
import {
  type Capability,
  type CapabilityExecutor,
  type CapabilityIndex,
  type CapabilityInput,
  type CapabilityProblem,
  type CapabilitySource,
  executorFor,
  findCapability,
} from '../../../src/domain/capabilities.js';
import { BatonError } from '../../../src/domain/errors.js';
import { fieldsOf, isNestedDeeper, type Json, type JsonObject, listOf, textOf } from '../../../src/domain/json.js';

const BUILT_IN = fileURLToPath(new URL('built-in', import.meta.url));
const EXECUTORS = 'executors';
const MAX_FOLDERS = 500;

interface DiscoveryOptions {
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

/** Parsing holds everybody up; no definition needs more. */
const MAX_BYTES = 64 * 1024;

/** What stands in `<stem>.yaml` or `<stem>.yml` of a folder. */
type Definition =
  | { readonly kind: 'read'; readonly file: string; readonly content: Json }
  | { readonly kind: 'missing' }
  | { readonly kind: 'broken'; readonly file: string; readonly reason: string };

/** Never throws, and never waits for a file that is none. */
async function readDefinition(folder: string, stem: 'executor' | 'capability'): Promise<Definition> {
  for (const ending of ['yaml', 'yml']) {
    const file = join(folder, `${stem}.${ending}`);
    try {
      return { kind: 'read', file, content: parseYaml(await readSmallFile(file)) };
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') continue;
      return { kind: 'broken', file, reason: error instanceof Error ? error.message : String(error) };
    }
  }
  return { kind: 'missing' };
}

async function readSmallFile(path: string): Promise<string> {
  // Without O_NONBLOCK a FIFO would hold us until somebody writes to it.
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    if (!(await file.stat()).isFile()) throw new Error('is no regular file');
    return await readUpTo(file, MAX_BYTES);
  } finally {
    await file.close();
  }
}

/** The whole file as text. It may grow while it is read, so what counts is what arrives. */
export async function readUpTo(file: FileHandle, maxBytes: number): Promise<string> {
  const chunks: Buffer[] = [];
  let total = 0;
  for (;;) {
    const { bytesRead, buffer } = await file.read(Buffer.alloc(64 * 1024), 0, 64 * 1024, total);
    if (bytesRead === 0) return Buffer.concat(chunks).toString('utf8');
    total += bytesRead;
    if (total > maxBytes) throw new Error(`is larger than ${maxBytes} bytes`);
    chunks.push(buffer.subarray(0, bytesRead));
  }
}

/** Either what a document says, or what is wrong with it. Pure. */
type Validated<T> = { readonly value: T } | { readonly problem: string };

interface Place {
  readonly dir: string;
  readonly source: CapabilitySource;
}

const MAX_NAME_CHARACTERS = 200;
const MAX_LIST_ITEMS = 200;

export function validateExecutor(content: Json, place: Place): Validated<CapabilityExecutor> {
  const fields = fieldsOf(content);
  const name = nameOf(fields.name);
  if (name === null) return { problem: 'has no `name`' };
  const written = listOf(fields.supportedTypes);
  const supportedTypes = written.slice(0, MAX_LIST_ITEMS).map(nameOf).filter(isText);
  if (written.length === 0 || supportedTypes.length !== written.length) {
    return { problem: 'needs `supportedTypes`, a list of at least one type' };
  }
  const entryPoint = scalarText(fields.entryPoint, 'dist/index.js');
  if (!isInside(entryPoint)) return { problem: `has an \`entryPoint\` that leads out of its folder: ${entryPoint}` };
  const version = scalarText(fields.version, '1.0.0');
  const [description, author] = [scalarText(fields.description, ''), scalarText(fields.author, '')];
  return { value: { name, version, description, supportedTypes, entryPoint, author, ...place } };
}

function validateCapability(content: Json, place: Place): Validated<Capability> {
  const fields = fieldsOf(content);
  const [name, type] = [nameOf(fields.name), nameOf(fields.type)];
  if (name === null) return { problem: 'has no `name`' };
  if (type === null) return { problem: 'has no `type`' };
  const inputs = inputsOf(fields.inputs);
  if (inputs === null) return { problem: 'needs `inputs` as a list in which every entry has a `name`' };
  const executor = nameOf(fields.executor);
  if (executor === null && (fields.executor ?? null) !== null) {
    return { problem: 'has an `executor` that is no name' };
  }
  const version = scalarText(fields.version, '1.0.0');
  const description = scalarText(fields.description, '');
  return { value: { name, type, version, description, inputs, executor, ...place, config: content as JsonObject } };
}

/** From its folder on, without a way out. */
function isInside(path: string): boolean {
  const plain = normalize(path);
  return path !== '' && !path.includes('\0') && !isAbsolute(plain) && !/^\.\.?(?:[\\/]|$)/.test(plain);
}

function inputsOf(written: unknown): readonly CapabilityInput[] | null {
  if (written === undefined || written === null) return [];
  if (!Array.isArray(written) || written.length > MAX_LIST_ITEMS) return null;
  const inputs = written.map((each): CapabilityInput | null => {
    const fields = fieldsOf(each);
    const name = nameOf(fields.name);
    if (name === null) return null;
    const input = { name, type: scalarText(fields.type, 'string'), required: fields.required === true };
    return fields.default === undefined ? input : { ...input, default: fields.default as Json };
  });
  return inputs.every((input) => input !== null) ? inputs : null;
}

function nameOf(value: unknown): string | null {
  const text = textOf(value)?.trim() ?? '';
  return text === '' || text.length > MAX_NAME_CHARACTERS || /\p{Cc}/u.test(text) ? null : text;
}

function isText(value: string | null): value is string {
  return value !== null;
}

/** `version: 1.0` is a number in YAML. */
function scalarText(value: unknown, otherwise: string): string {
  if (typeof value === 'number') return String(value);
  return textOf(value) ?? otherwise;
}

const MAX_PROBLEMS = 500;

/** Collects what is found, in the order of registration. Pure. */
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

/** A capability and who runs it. Throws `CAPABILITY_NOT_FOUND` or `EXECUTOR_NOT_FOUND`. */
export function chooseCapability(
  index: CapabilityIndex,
  type: string,
  name: string,
): { readonly capability: Capability; readonly executor: CapabilityExecutor } {
  const capability = findCapability(index, type, name);
  const executor = executorFor(index, type, capability?.executor ?? null);
  if (executor === null) {
    const pinned = capability?.executor;
    const what = pinned ? `named ${pinned}, which the ${type} ${name} asks for` : `for capabilities of type ${type}`;
    throw new BatonError('EXECUTOR_NOT_FOUND', `there is no executor ${what}${skipped(index)}`, { type, name });
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

/** Reads its definition once more: it may have been changed since it was found. Throws `INVALID_ACTION_BLOCK`. */
export async function freshExecutor({ dir, source }: CapabilityExecutor): Promise<CapabilityExecutor> {
  const found = await readDefinition(dir, 'executor');
  if (found.kind === 'missing') throw new BatonError('INVALID_ACTION_BLOCK', `${dir} has no executor.yaml`);
  if (found.kind === 'broken') throw new BatonError('INVALID_ACTION_BLOCK', `${found.file} ${found.reason}`);
  const checked = validateExecutor(found.content, { dir, source });
  if ('value' in checked) return checked.value;
  throw new BatonError('INVALID_ACTION_BLOCK', `${found.file} ${checked.problem}`);
}

function skipped({ problems }: CapabilityIndex): string {
  const count = problems.filter(({ level }) => level === 'error').length;
  return count === 0 ? '' : `; ${count} could not be read, see \`baton capability list\``;
}

const MAX_DEPTH = 32;
const MAX_ALIASES = 20;
const MAX_JSON_CHARACTERS = 1_000_000;

/** Plain JSON of a YAML text. Bounded in depth, aliases and size. Throws an `Error` that says what is wrong with it. */
function parseYaml(source: string): Json {
  if (isNestedDeeper(new Parser().parse(source), MAX_DEPTH))
    throw new Error(`is nested more than ${MAX_DEPTH} levels deep`);
  // Its own check for repeated keys is quadratic.
  const document = parseDocument(source, { prettyErrors: false, uniqueKeys: false, logLevel: 'error' });
  const [problem] = document.errors;
  if (problem) throw new Error(`is no valid YAML: ${problem.message}`);
  const text = JSON.stringify(document.toJS({ maxAliasCount: MAX_ALIASES }) ?? null);
  if (text.length > MAX_JSON_CHARACTERS) throw new Error('is too large once its aliases are expanded');
  return JSON.parse(text) as Json;
}
