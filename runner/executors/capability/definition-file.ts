import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { isAbsolute, join, normalize } from 'node:path';
import { Parser, parseDocument } from 'yaml';
import type {
  Capability,
  CapabilityExecutor,
  CapabilityInput,
  CapabilitySource,
} from '../../../src/domain/capabilities.js';
import { fieldsOf, isNestedDeeper, type Json, type JsonObject, listOf, textOf } from '../../../src/domain/json.js';

/** Parsing blocks the event loop, and no definition needs more. */
const MAX_BYTES = 64 * 1024;
const MAX_DEPTH = 32;
const MAX_ALIASES = 20;
const MAX_JSON_CHARACTERS = 1_000_000;
const MAX_NAME_CHARACTERS = 200;
const MAX_LIST_ITEMS = 200;

/** The content of `<stem>.yaml` or `<stem>.yml` in a folder. */
export type Definition =
  | { readonly kind: 'read'; readonly file: string; readonly content: Json }
  | { readonly kind: 'missing' }
  | { readonly kind: 'broken'; readonly file: string; readonly reason: string };

/** Never throws, and never blocks on a FIFO. */
export async function readDefinition(
  folder: string,
  stem: 'executor' | 'capability',
  openFile: (path: string) => Promise<FileHandle> = openUnblocked,
): Promise<Definition> {
  for (const ending of ['yaml', 'yml']) {
    const file = join(folder, `${stem}.${ending}`);
    try {
      return { kind: 'read', file, content: parseYaml(await readSmallFile(await openFile(file))) };
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') continue;
      return { kind: 'broken', file, reason: error instanceof Error ? error.message : String(error) };
    }
  }
  return { kind: 'missing' };
}

/** Without O_NONBLOCK opening a FIFO would block until it has a writer. */
function openUnblocked(path: string): Promise<FileHandle> {
  return open(path, constants.O_RDONLY | constants.O_NONBLOCK);
}

async function readSmallFile(file: FileHandle): Promise<string> {
  try {
    if (!(await file.stat()).isFile()) throw new Error('is not a regular file');
    return await readUpTo(file, MAX_BYTES);
  } finally {
    await file.close();
  }
}

/** Reads a whole file as text. The limit counts the bytes read, because the file may grow meanwhile. */
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

/** Parses YAML to plain JSON, with limits for depth, aliases and size. Throws an `Error` whose message names the problem. */
function parseYaml(source: string): Json {
  if (isNestedDeeper(new Parser().parse(source), MAX_DEPTH))
    throw new Error(`is nested more than ${MAX_DEPTH} levels deep`);
  // The parser's check for repeated keys takes quadratic time.
  const document = parseDocument(source, { prettyErrors: false, uniqueKeys: false, logLevel: 'error' });
  const [problem] = document.errors;
  if (problem) throw new Error(`is not valid YAML: ${problem.message}`);
  const text = JSON.stringify(document.toJS({ maxAliasCount: MAX_ALIASES }) ?? null);
  if (text.length > MAX_JSON_CHARACTERS) throw new Error('is too large once its aliases are expanded');
  return JSON.parse(text) as Json;
}

/** A valid definition, or the problem with it. */
type Validated<T> = { readonly value: T } | { readonly problem: string };

interface Location {
  readonly dir: string;
  readonly source: CapabilitySource;
}

/** Pure. */
export function validateExecutor(content: Json, location: Location): Validated<CapabilityExecutor> {
  const fields = fieldsOf(content);
  const name = nameOf(fields.name);
  if (name === null) return { problem: 'has no `name`' };
  const types = listOf(fields.supportedTypes);
  const supportedTypes = types
    .slice(0, MAX_LIST_ITEMS)
    .map(nameOf)
    .filter((type) => type !== null);
  if (types.length === 0 || supportedTypes.length !== types.length) {
    return { problem: 'needs `supportedTypes`, a list of at least one type' };
  }
  const entryPoint = scalarText(fields.entryPoint, 'dist/index.js');
  if (!isInside(entryPoint)) return { problem: `has an \`entryPoint\` that leads out of its folder: ${entryPoint}` };
  const version = scalarText(fields.version, '1.0.0');
  const [description, author] = [scalarText(fields.description, ''), scalarText(fields.author, '')];
  return { value: { name, version, description, supportedTypes, entryPoint, author, ...location } };
}

/** Pure. */
export function validateCapability(content: Json, location: Location): Validated<Capability> {
  const fields = fieldsOf(content);
  const [name, type] = [nameOf(fields.name), nameOf(fields.type)];
  if (name === null) return { problem: 'has no `name`' };
  if (type === null) return { problem: 'has no `type`' };
  const inputs = inputsOf(fields.inputs);
  if (inputs === null) return { problem: 'needs `inputs` as a list in which every entry has a `name`' };
  const executor = nameOf(fields.executor);
  if (executor === null && (fields.executor ?? null) !== null) {
    return { problem: 'has an `executor` that is not a name' };
  }
  const version = scalarText(fields.version, '1.0.0');
  const description = scalarText(fields.description, '');
  return { value: { name, type, version, description, inputs, executor, ...location, config: content as JsonObject } };
}

/** True for a relative path that stays inside its folder. */
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

/** `version: 1.0` is a number in YAML. */
function scalarText(value: unknown, otherwise: string): string {
  if (typeof value === 'number') return String(value);
  return textOf(value) ?? otherwise;
}
