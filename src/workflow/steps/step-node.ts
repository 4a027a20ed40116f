import type { Json, JsonObject } from '../../domain/json.js';
import type { Backend, Step } from '../../domain/steps/plan.js';
import { formatPath, type KeyPath, type Position, type Positions } from '../positions.js';
import type { ShapeName, StepKind } from './step-schema.js';

/**
 * A step on its way into the plan: what it says, and where. The checks look at this and not at the finished step, so that a step
 * with one fault is still searched for others.
 */
export interface StepNode {
  readonly keys: StepKeys;
  /** As written where it can be used, else `null`. */
  readonly id: string | null;
  readonly body: { readonly kind: StepKind } | { readonly shape: ShapeName } | null;
  /** Agent steps: what they run on. */
  readonly backend: Backend | null;
  /** The inner steps: a list for each branch of `parallel`, one list for the other shapes. */
  readonly lists: readonly (readonly StepNode[])[];
  /** `null`: it has a fault, which is told. */
  readonly step: Step | null;
}

/** The keys of a step, those of its activity included. */
export interface StepKeys {
  readonly values: JsonObject;
  readonly path: KeyPath;
  /** Where a key stands that is not the step's own. */
  readonly activity: { readonly name: string; readonly path: KeyPath; readonly keys: ReadonlySet<string> } | null;
  readonly positions: Positions;
}

/** `step "review"`; one without a usable id by its place in the list. */
export function nameOf({ id, keys }: Pick<StepNode, 'id' | 'keys'>): string {
  return id === null ? formatPath(keys.path) : `step "${id}"`;
}

export function shapeOf({ body }: StepNode): ShapeName | null {
  return body !== null && 'shape' in body ? body.shape : null;
}

/** Where the value of a key stands, or the step itself. */
export function valuePlace(keys: StepKeys, path: KeyPath = []): Position {
  return keys.positions.valueAt(filePath(keys, path));
}

export function keyPlace(keys: StepKeys, path: KeyPath): Position {
  return keys.positions.keyAt(filePath(keys, path));
}

export function filePath({ path: own, activity }: StepKeys, path: KeyPath): KeyPath {
  const [key] = path;
  const isBorrowed = activity !== null && typeof key === 'string' && activity.keys.has(key);
  return [...(isBorrowed ? activity.path : own), ...path];
}

/** Its text, or `null` when it is none. */
export function textOf(keys: StepKeys, key: string): string | null {
  const value: Json = keys.values[key] ?? null;
  return typeof value === 'string' && value.trim() !== '' ? value : null;
}

/** Every node, parents first. */
export function* allNodes(nodes: readonly StepNode[]): Generator<StepNode> {
  for (const node of nodes) {
    yield node;
    for (const list of node.lists) yield* allNodes(list);
  }
}
