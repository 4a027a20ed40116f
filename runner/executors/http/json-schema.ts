import type { Json, JsonObject } from '../../../src/domain/json.js';
import { isKnown, RULES } from './json-schema-rules.js';
import { CHARACTERS_PER_WORK, type Difference, type Place, type SchemaWalk, Unclear } from './json-schema-walk.js';

/**
 * Holds a value against a JSON Schema that somebody else wrote. Schema and value are both hostile: nothing is compiled, no pattern is
 * matched, and depth and work are bounded. Where a part of the schema that matters for the value is not understood, the answer is
 * `unclear`, never a guess.
 */
export type Verdict =
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
