import { isMap, type Json, type JsonObject } from '../../../src/domain/json.js';

type Verdict =
  | { readonly kind: 'fits' }
  /** `at`: JSON pointer into the value, empty for the whole. `why` continues a sentence about that part. */
  | { readonly kind: 'differs'; readonly at: string; readonly why: string }
  | { readonly kind: 'unclear'; readonly why: string };

const MAX_WORK = 2_000_000;
/** Several times the depth of any value, so that only circular references reach it. Far below the end of the stack. */
const MAX_DEPTH = 800;

/**
 * Checks a value against a JSON Schema from a service. Schema and value may be hostile: nothing is compiled, no pattern is matched, and
 * depth and work are bounded. When the value depends on a part of the schema that is not supported, the verdict is `unclear`.
 */
export function validateSchema(schema: Json, value: Json): Verdict {
  try {
    const difference = new SchemaWalk(schema).difference(schema, value, null, 0);
    if (difference === null) return { kind: 'fits' };
    return { kind: 'differs', at: pointerTo(difference.path), why: difference.why };
  } catch (error) {
    if (error instanceof Unclear) return { kind: 'unclear', why: error.message };
    throw error;
  }
}

/** One walk through schema and value. */
class SchemaWalk {
  #work = 0;

  constructor(readonly root: Json) {}

  /** Accounts for reading a part of schema or value. Throws `Unclear` when the total becomes too much. */
  spend(work: number): void {
    this.#work += work;
    if (this.#work > MAX_WORK) throw new Unclear('it takes too much work');
  }

  difference(schema: Json, value: Json, path: Path | null, depth: number): Difference | null {
    this.spend(1);
    if (depth > MAX_DEPTH) throw new Unclear('it is nested too deep or refers to itself');
    if (typeof schema === 'boolean') return schema ? null : { path, why: 'must not be there' };
    if (typeof schema !== 'object' || schema === null || Array.isArray(schema)) {
      throw new Unclear('a part of it is neither an object nor a boolean');
    }
    const keywords = Object.keys(schema);
    // Before any rule runs: an unsupported keyword may change the meaning of the others.
    this.spend(keywords.length);
    for (const keyword of keywords) {
      if (!isKnown(keyword)) throw new Unclear(`it uses ${keyword}`);
    }
    const map = schema as JsonObject;
    if (map.nullable === true && value === null) return null;
    for (const keyword of keywords) {
      const found = RULES.get(keyword)?.(map[keyword] as Json, { walk: this, schema: map, value, path, depth });
      if (found) return found;
    }
    return null;
  }

  /** What a `$ref` within the document names. */
  resolve(reference: string): Json {
    this.spend(reference.length / CHARACTERS_PER_WORK);
    const pointer = /^#((?:\/.*)?)$/s.exec(reference)?.[1];
    if (pointer === undefined) throw new Unclear('it refers to another document');
    let target: Json = this.root;
    for (const part of pointer.split('/').slice(1)) {
      this.spend(1);
      const key = decoded(part).replaceAll('~1', '/').replaceAll('~0', '~');
      if (typeof target !== 'object' || target === null || !Object.hasOwn(target, key)) {
        throw new Unclear('it refers to a part that is not there');
      }
      target = (target as JsonObject)[key] as Json;
    }
    return target;
  }
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    throw new Unclear('it refers to a part that is not there');
  }
}

function pointerTo(path: Path | null): string {
  const keys: string[] = [];
  for (let at = path; at !== null; at = at.parent) keys.unshift(at.key);
  return keys.map((key) => `/${key}`).join('');
}

/** `wanted` is the value of the keyword. A keyword about values of another type is satisfied. */
type Rule = (wanted: Json, cursor: Cursor) => Difference | null;

/** Keywords that restrict no value, or that another rule reads. `format` is an annotation by default. */
const ANNOTATIONS = new Set([
  '$schema',
  '$comment',
  '$defs',
  'definitions',
  'title',
  'description',
  'default',
  'example',
  'examples',
  'deprecated',
  'readOnly',
  'writeOnly',
  'format',
  'contentMediaType',
  'contentEncoding',
  'nullable',
]);

function isKnown(keyword: string): boolean {
  return RULES.has(keyword) || ANNOTATIONS.has(keyword) || keyword.startsWith('x-');
}

/** A Map, since a keyword from a service may be called `constructor`. */
const RULES: ReadonlyMap<string, Rule> = new Map<string, Rule>([
  ['type', checkType],
  ['enum', (wanted, cursor) => checkListed(list(wanted), cursor)],
  ['const', (wanted, cursor) => checkListed([wanted], cursor)],
  ['minimum', bound(amount, (value, limit) => value >= limit, 'be at least %d')],
  ['maximum', bound(amount, (value, limit) => value <= limit, 'be at most %d')],
  ['exclusiveMinimum', bound(amount, (value, limit) => value > limit, 'be more than %d')],
  ['exclusiveMaximum', bound(amount, (value, limit) => value < limit, 'be less than %d')],
  ['minLength', bound(characters, (value, limit) => value >= limit, 'have at least %d characters')],
  ['maxLength', bound(characters, (value, limit) => value <= limit, 'have at most %d characters')],
  ['minItems', bound(items, (value, limit) => value >= limit, 'have at least %d items')],
  ['maxItems', bound(items, (value, limit) => value <= limit, 'have at most %d items')],
  ['minProperties', bound(members, (value, limit) => value >= limit, 'have at least %d members')],
  ['maxProperties', bound(members, (value, limit) => value <= limit, 'have at most %d members')],
  ['required', checkRequired],
  ['properties', checkProperties],
  ['additionalProperties', checkOthers],
  ['items', checkItems],
  ['allOf', (wanted, cursor) => first(list(wanted), (one) => again(one, cursor))],
  ['anyOf', checkAlternatives],
  ['oneOf', checkOneAlternative],
  ['not', (wanted, cursor) => (again(wanted, cursor) === null ? differs(cursor, 'is what it must not be') : null)],
  ['$ref', (wanted, cursor) => again(cursor.walk.resolve(text(wanted)), cursor)],
  ['$id', checkId],
]);

function checkType(wanted: Json, cursor: Cursor): Difference | null {
  const types = typeof wanted === 'string' ? [wanted] : list(wanted).map(text);
  cursor.walk.spend(types.length);
  const unknown = types.find((type) => !TYPES.has(type));
  if (unknown !== undefined) throw new Unclear('it uses a type that does not exist');
  return types.some((type) => TYPES.get(type)?.(cursor.value))
    ? null
    : differs(cursor, `must be ${types.slice(0, TYPES.size).join(' or ')}`);
}

const TYPES: ReadonlyMap<string, (value: Json) => boolean> = new Map<string, (value: Json) => boolean>([
  ['null', (value) => value === null],
  ['boolean', (value) => typeof value === 'boolean'],
  ['number', (value) => typeof value === 'number'],
  ['integer', (value) => Number.isInteger(value)],
  ['string', (value) => typeof value === 'string'],
  ['array', (value) => Array.isArray(value)],
  ['object', isMap],
]);

function checkListed(values: readonly Json[], cursor: Cursor): Difference | null {
  const isListed = values.some((one) => equal(one, cursor.value, cursor.walk));
  return isListed ? null : differs(cursor, 'must be one of the listed values');
}

function checkRequired(wanted: Json, cursor: Cursor): Difference | null {
  const { value, walk } = cursor;
  if (!isMap(value)) return null;
  return first(list(wanted), (name) => {
    walk.spend(1);
    return Object.hasOwn(value, text(name)) ? null : differs(cursor, `lacks ${text(name)}`);
  });
}

function checkProperties(wanted: Json, cursor: Cursor): Difference | null {
  const { value, walk } = cursor;
  const schemas = map(wanted);
  if (!isMap(value)) return null;
  const names = Object.keys(schemas);
  walk.spend(names.length);
  const shared = names.filter((key) => Object.hasOwn(value, key));
  return first(shared, (key) => inside(schemas[key] as Json, value[key] as Json, key, cursor));
}

function checkOthers(wanted: Json, cursor: Cursor): Difference | null {
  const { value, schema, walk } = cursor;
  if (!isMap(value)) return null;
  const named = map(schema.properties ?? {});
  const names = Object.keys(value);
  walk.spend(names.length);
  const others = names.filter((key) => !Object.hasOwn(named, key));
  return first(others, (key) => inside(wanted, value[key] as Json, key, cursor));
}

function checkItems(wanted: Json, cursor: Cursor): Difference | null {
  if (Array.isArray(wanted)) throw new Unclear('it uses items for each position');
  if (!Array.isArray(cursor.value)) return null;
  let at = 0;
  return first(cursor.value, (item) => inside(wanted, item, String(at++), cursor));
}

function checkAlternatives(wanted: Json, cursor: Cursor): Difference | null {
  const fits = list(wanted).some((one) => again(one, cursor) === null);
  return fits ? null : differs(cursor, 'fits none of the alternatives');
}

function checkOneAlternative(wanted: Json, cursor: Cursor): Difference | null {
  const fitting = list(wanted).filter((one) => again(one, cursor) === null);
  return fitting.length === 1 ? null : differs(cursor, 'must fit exactly one of the alternatives');
}

/** References below a nested `$id` mean another document. */
function checkId(_: Json, { schema, walk }: Cursor): null {
  if (schema !== walk.root) throw new Unclear('it holds another document');
  return null;
}

type Measure = (value: Json, walk: SchemaWalk) => number | null;

function bound(measure: Measure, holds: (measured: number, limit: number) => boolean, words: string): Rule {
  return (limit, cursor) => {
    if (typeof limit !== 'number') throw new Unclear('a limit in it is not a number');
    const measured = measure(cursor.value, cursor.walk);
    const isWithin = measured === null || holds(measured, limit);
    return isWithin ? null : differs(cursor, `must ${words.replace('%d', String(limit))}`);
  };
}

function amount(value: Json): number | null {
  return typeof value === 'number' ? value : null;
}

/** The length in code points, not in units of UTF-16. */
function characters(value: Json, walk: SchemaWalk): number | null {
  if (typeof value !== 'string') return null;
  walk.spend(value.length / CHARACTERS_PER_WORK);
  let length = 0;
  for (const _ of value) length += 1;
  return length;
}

function items(value: Json): number | null {
  return Array.isArray(value) ? value.length : null;
}

function members(value: Json, walk: SchemaWalk): number | null {
  if (!isMap(value)) return null;
  const { length } = Object.keys(value);
  walk.spend(length);
  return length;
}

function equal(a: Json, b: Json, walk: SchemaWalk): boolean {
  walk.spend(typeof a === 'string' ? 1 + a.length / CHARACTERS_PER_WORK : 1);
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return a === b;
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  const [left, right] = [a as JsonObject, b as JsonObject];
  const keys = Object.keys(left);
  walk.spend(keys.length);
  return (
    keys.length === Object.keys(right).length &&
    keys.every((key) => Object.hasOwn(right, key) && equal(left[key] as Json, right[key] as Json, walk))
  );
}

function again(schema: Json, { walk, value, path, depth }: Cursor): Difference | null {
  return walk.difference(schema, value, path, depth + 1);
}

function inside(schema: Json, value: Json, key: string, { walk, path, depth }: Cursor): Difference | null {
  return walk.difference(schema, value, { parent: path, key }, depth + 1);
}

function differs({ path }: Cursor, why: string): Difference {
  return { path, why };
}

function first<T>(all: readonly T[], difference: (one: T) => Difference | null): Difference | null {
  for (const one of all) {
    const found = difference(one);
    if (found !== null) return found;
  }
  return null;
}

function list(wanted: Json): readonly Json[] {
  if (!Array.isArray(wanted)) throw new Unclear('a list is missing in it');
  return wanted;
}

function map(wanted: Json): JsonObject {
  if (!isMap(wanted)) throw new Unclear('an object is missing in it');
  return wanted;
}

function text(wanted: Json): string {
  if (typeof wanted !== 'string') throw new Unclear('a text is missing in it');
  return wanted;
}

/** A path in the value, from its end. */
interface Path {
  readonly parent: Path | null;
  readonly key: string;
}

interface Difference {
  readonly path: Path | null;
  readonly why: string;
}

/** A position in schema and value. */
interface Cursor {
  readonly walk: SchemaWalk;
  readonly schema: JsonObject;
  readonly value: Json;
  readonly path: Path | null;
  readonly depth: number;
}

/** Reading a long text is work too. */
const CHARACTERS_PER_WORK = 16;

/** The schema uses something unsupported, or is too much work. */
class Unclear extends Error {
  override readonly name = 'Unclear';
}
