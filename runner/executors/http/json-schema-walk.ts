import type { Json, JsonObject } from '../../../src/domain/json.js';

/** A place in the value. */
export interface Place {
  readonly parent: Place | null;
  readonly key: string;
}

export interface Difference {
  readonly place: Place | null;
  readonly why: string;
}

/** The walk through schema and value, of which each rule is a part. */
export interface SchemaWalk {
  readonly root: Json;
  /** Every look at a part of schema or value is paid for. Throws `Unclear` when it becomes too much. */
  spend(work: number): void;
  difference(schema: Json, value: Json, place: Place | null, depth: number): Difference | null;
  /** What a `$ref` names. */
  resolve(reference: string): Json;
}

/** Reading a long text is work too. */
export const CHARACTERS_PER_WORK = 16;

/** The schema says something that we do not understand, or too much of it. */
export class Unclear extends Error {
  override readonly name = 'Unclear';
}

/** A place in schema and value, and how far down it is. */
export interface Spot {
  readonly check: SchemaWalk;
  readonly schema: JsonObject;
  readonly value: Json;
  readonly place: Place | null;
  readonly depth: number;
}
