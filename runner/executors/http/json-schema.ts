import { isMap, type Json, type JsonObject } from '../../../src/domain/json.js';

/**
 * Holds a value against a JSON Schema that somebody else wrote. Schema and value are both hostile: nothing is compiled, no pattern is
 * matched, and depth and work are bounded. Where a part of the schema that matters for the value is not understood, the answer is
 * `unclear`, never a guess.
 */
type Verdict =
  | { readonly kind: 'fits' }
  /** `at`: JSON pointer into the value, empty for the whole. `why` goes on from it. */
  | { readonly kind: 'differs'; readonly at: string; readonly why: string }
  | { readonly kind: 'unclear'; readonly why: string };

const MAX_WORK = 2_000_000;
/** Some times that of any value, so that only references in circles get there; far from the end of the stack. */
const MAX_DEPTH = 800;

export function holdAgainst(schema: Json, value: Json): Verdict {
  try {
    const difference = new SchemaCheck(schema).difference(schema, value, null, 0);
    if (difference === null) return { kind: 'fits' };
    return { kind: 'differs', at: pointerTo(difference.place), why: difference.why };
  } catch (error) {
    if (error instanceof Unclear) return { kind: 'unclear', why: error.message };
    throw error;
  }
}

class SchemaCheck implements SchemaWalk {
  #work = 0;

  constructor(readonly root: Json) {}

  spend(work: number): void {
    this.#work += work;
    if (this.#work > MAX_WORK) throw new Unclear('it takes too much work');
  }

  difference(schema: Json, value: Json, place: Place | null, depth: number): Difference | null {
    this.spend(1);
    if (depth > MAX_DEPTH) throw new Unclear('it is nested too deep or refers to itself');
    if (typeof schema === 'boolean') return schema ? null : { place, why: 'must not be there' };
    if (typeof schema !== 'object' || schema === null || Array.isArray(schema)) {
      throw new Unclear('a part of it is neither an object nor a boolean');
    }
    const keywords = Object.keys(schema);
    // Before any rule is asked: what is not understood may change what the others mean.
    this.spend(keywords.length);
    for (const keyword of keywords) {
      if (!isKnown(keyword)) throw new Unclear(`it uses ${keyword}`);
    }
    const map = schema as JsonObject;
    if (map.nullable === true && value === null) return null;
    for (const keyword of keywords) {
      const found = RULES.get(keyword)?.(map[keyword] as Json, { check: this, schema: map, value, place, depth });
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

function pointerTo(place: Place | null): string {
  const keys: string[] = [];
  for (let at = place; at !== null; at = at.parent) keys.unshift(at.key);
  return keys.map((key) => `/${key}`).join('');
}

/** `wanted` is what stands behind the keyword. A keyword that is not about values of this type has nothing to say. */
type Rule = (wanted: Json, spot: Spot) => Difference | null;

/** They say nothing about which values are right, or stand for a rule that is looked up elsewhere. `format` is a remark by default. */
const REMARKS = new Set([
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
  return RULES.has(keyword) || REMARKS.has(keyword) || keyword.startsWith('x-');
}

/** A Map, as keywords come from outside and may be called `constructor`. */
const RULES: ReadonlyMap<string, Rule> = new Map<string, Rule>([
  ['type', checkType],
  ['enum', (wanted, spot) => checkListed(list(wanted), spot)],
  ['const', (wanted, spot) => checkListed([wanted], spot)],
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
  ['allOf', (wanted, spot) => first(list(wanted), (one) => again(one, spot))],
  ['anyOf', checkAlternatives],
  ['oneOf', checkOneAlternative],
  ['not', (wanted, spot) => (again(wanted, spot) === null ? differs(spot, 'is what it must not be') : null)],
  ['$ref', (wanted, spot) => again(spot.check.resolve(text(wanted)), spot)],
  ['$id', checkId],
]);

function checkType(wanted: Json, spot: Spot): Difference | null {
  const types = typeof wanted === 'string' ? [wanted] : list(wanted).map(text);
  spot.check.spend(types.length);
  const unknown = types.find((type) => !TYPES.has(type));
  if (unknown !== undefined) throw new Unclear('it uses a type that does not exist');
  return types.some((type) => TYPES.get(type)?.(spot.value))
    ? null
    : differs(spot, `must be ${types.slice(0, TYPES.size).join(' or ')}`);
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

function checkListed(values: readonly Json[], spot: Spot): Difference | null {
  const isListed = values.some((one) => equal(one, spot.value, spot.check));
  return isListed ? null : differs(spot, 'must be one of the listed values');
}

function checkRequired(wanted: Json, spot: Spot): Difference | null {
  const { value, check } = spot;
  if (!isMap(value)) return null;
  return first(list(wanted), (name) => {
    check.spend(1);
    return Object.hasOwn(value, text(name)) ? null : differs(spot, `lacks ${text(name)}`);
  });
}

function checkProperties(wanted: Json, spot: Spot): Difference | null {
  const { value, check } = spot;
  const schemas = map(wanted);
  if (!isMap(value)) return null;
  const names = Object.keys(schemas);
  check.spend(names.length);
  const shared = names.filter((key) => Object.hasOwn(value, key));
  return first(shared, (key) => inside(schemas[key] as Json, value[key] as Json, key, spot));
}

function checkOthers(wanted: Json, spot: Spot): Difference | null {
  const { value, schema, check } = spot;
  if (!isMap(value)) return null;
  const named = map(schema.properties ?? {});
  const names = Object.keys(value);
  check.spend(names.length);
  const others = names.filter((key) => !Object.hasOwn(named, key));
  return first(others, (key) => inside(wanted, value[key] as Json, key, spot));
}

function checkItems(wanted: Json, spot: Spot): Difference | null {
  if (Array.isArray(wanted)) throw new Unclear('it uses items for each position');
  if (!Array.isArray(spot.value)) return null;
  let at = 0;
  return first(spot.value, (item) => inside(wanted, item, String(at++), spot));
}

function checkAlternatives(wanted: Json, spot: Spot): Difference | null {
  const fits = list(wanted).some((one) => again(one, spot) === null);
  return fits ? null : differs(spot, 'fits none of the alternatives');
}

function checkOneAlternative(wanted: Json, spot: Spot): Difference | null {
  const fitting = list(wanted).filter((one) => again(one, spot) === null);
  return fitting.length === 1 ? null : differs(spot, 'must fit exactly one of the alternatives');
}

/** Below one of their own, references mean another document. */
function checkId(_: Json, { schema, check }: Spot): null {
  if (schema !== check.root) throw new Unclear('it holds another document');
  return null;
}

type Measure = (value: Json, check: SchemaWalk) => number | null;

function bound(measure: Measure, holds: (measured: number, limit: number) => boolean, words: string): Rule {
  return (limit, spot) => {
    if (typeof limit !== 'number') throw new Unclear('a limit in it is not a number');
    const measured = measure(spot.value, spot.check);
    const isWithin = measured === null || holds(measured, limit);
    return isWithin ? null : differs(spot, `must ${words.replace('%d', String(limit))}`);
  };
}

function amount(value: Json): number | null {
  return typeof value === 'number' ? value : null;
}

/** Characters as people count them, not units of UTF-16. */
function characters(value: Json, check: SchemaWalk): number | null {
  if (typeof value !== 'string') return null;
  check.spend(value.length / CHARACTERS_PER_WORK);
  let length = 0;
  for (const _ of value) length += 1;
  return length;
}

function items(value: Json): number | null {
  return Array.isArray(value) ? value.length : null;
}

function members(value: Json, check: SchemaWalk): number | null {
  if (!isMap(value)) return null;
  const { length } = Object.keys(value);
  check.spend(length);
  return length;
}

function equal(a: Json, b: Json, check: SchemaWalk): boolean {
  check.spend(typeof a === 'string' ? 1 + a.length / CHARACTERS_PER_WORK : 1);
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return a === b;
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  const [left, right] = [a as JsonObject, b as JsonObject];
  const keys = Object.keys(left);
  check.spend(keys.length);
  return (
    keys.length === Object.keys(right).length &&
    keys.every((key) => Object.hasOwn(right, key) && equal(left[key] as Json, right[key] as Json, check))
  );
}

function again(schema: Json, { check, value, place, depth }: Spot): Difference | null {
  return check.difference(schema, value, place, depth + 1);
}

function inside(schema: Json, value: Json, key: string, { check, place, depth }: Spot): Difference | null {
  return check.difference(schema, value, { parent: place, key }, depth + 1);
}

function differs({ place }: Spot, why: string): Difference {
  return { place, why };
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

/** A place in the value. */
interface Place {
  readonly parent: Place | null;
  readonly key: string;
}

interface Difference {
  readonly place: Place | null;
  readonly why: string;
}

/** The walk through schema and value, of which each rule is a part. */
interface SchemaWalk {
  readonly root: Json;
  /** Every look at a part of schema or value is paid for. Throws `Unclear` when it becomes too much. */
  spend(work: number): void;
  difference(schema: Json, value: Json, place: Place | null, depth: number): Difference | null;
  /** What a `$ref` names. */
  resolve(reference: string): Json;
}

/** Reading a long text is work too. */
const CHARACTERS_PER_WORK = 16;

/** The schema says something that we do not understand, or too much of it. */
class Unclear extends Error {
  override readonly name = 'Unclear';
}

/** A place in schema and value, and how far down it is. */
interface Spot {
  readonly check: SchemaWalk;
  readonly schema: JsonObject;
  readonly value: Json;
  readonly place: Place | null;
  readonly depth: number;
}
