import { isAbsolute, normalize } from 'node:path';
import type {
  Capability,
  CapabilityExecutor,
  CapabilityInput,
  CapabilitySource,
} from '../../../src/domain/capabilities.js';
import { fieldsOf, listOf, textOf } from '../../../src/domain/fields.js';
import type { Json, JsonObject } from '../../../src/domain/json.js';

/** Either what a document says, or what is wrong with it. Pure. */
export type Validated<T> = { readonly value: T } | { readonly problem: string };

export interface Place {
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

export function validateCapability(content: Json, place: Place): Validated<Capability> {
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
