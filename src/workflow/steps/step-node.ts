import type { ErrorCode } from '../../domain/errors.js';
import type { Json, JsonObject } from '../../domain/json.js';
import { nearestWord } from '../../domain/nearest-word.js';
import type { Backend, PromptSource, Step } from '../../domain/steps/plan.js';
import { SCOPE_ROOTS } from '../../domain/steps/tokens.js';
import type { Position, WarningCode } from '../../domain/workflow.js';
import { formatPath, type KeyPath, type Positions, type Problem } from '../positions.js';
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

/** The front matter as the readers of `steps` and its kin see it. */
export interface PlanSource {
  readonly values: JsonObject;
  readonly positions: Positions;
  /** `WORKFLOW.md`, for messages. */
  readonly name: string;
  /** Absolute folder of the file. */
  readonly dir: string;
  readonly env: NodeJS.ProcessEnv;
  /** The body, or the built-in prompt. */
  readonly prompt: PromptSource;
}

/** Everything that is wrong or odd, gathered: a person sees all of it at once. */
export class Faults {
  readonly problems: Problem[] = [];
  readonly warnings: Problem[] = [];

  add(at: Position, text: string, code?: ErrorCode): void {
    this.problems.push({ at, text, ...(code === undefined ? {} : { code }) });
  }

  warn(at: Position, text: string, code: WarningCode): void {
    this.warnings.push({ at, text, code });
  }
}

const ROOTS = SCOPE_ROOTS.join('|');
const TOKEN = new RegExp(`(?<!\\$)\\$\\{\\s*(?:${ROOTS})\\b[^{}\\n]*\\}?`);
const LIQUID = new RegExp(`\\$?\\{\\{-?\\s*((?:${ROOTS})\\b[^{}|\\s]{0,80})[^{}\\n]{0,200}\\}\\}`);
const DOTTED = /(?<!\$)\$\{\s*([a-z]\w*)\.[^{}\n]*\}?/g;

/** Where data may go, for whoever put it elsewhere. */
const PLACES = 'data goes into input, params, args of a tool, stdin, env, env_set, memory or prompt';

export interface TextFault {
  readonly path: KeyPath;
  readonly text: string;
}

/** Every text in a value, and every key of a map in it. */
export function* textsIn(value: Json, path: KeyPath): Generator<TextFault & { readonly isKey: boolean }> {
  if (typeof value === 'string') yield { path, text: value, isKey: false };
  if (typeof value !== 'object' || value === null) return;
  const isList = Array.isArray(value);
  for (const [key, item] of Object.entries(value)) {
    const inner = [...path, isList ? Number(key) : key];
    if (!isList) yield { path: inner, text: key, isKey: true };
    yield* textsIn(item as Json, inner);
  }
}

/**
 * The first `${…}` of each text in a value that is taken as it is. Text of an issue must never become a part of a command, a
 * name or an address, so nothing is filled in there; whoever wrote a token expects otherwise.
 */
export function* neverFilled(value: Json, path: KeyPath): Generator<TextFault> {
  for (const { path: at, text, isKey } of textsIn(value, path)) {
    const token = TOKEN.exec(text)?.[0].slice(0, 80);
    if (token === undefined) continue;
    yield { path: at, text: `${token} is never filled in ${isKey ? 'as a key' : `here: ${PLACES}`}` };
  }
}

/** What looks like data in a value that is filled in, and stays as it is: other words in braces, and Liquid. */
export function* lookalikes(value: Json, path: KeyPath): Generator<TextFault> {
  for (const { path: at, text } of textsIn(value, path)) {
    const [liquid, name] = LIQUID.exec(text) ?? [];
    if (liquid !== undefined)
      yield {
        path: at,
        text: `${liquid.slice(0, 80)} stays as it is: only prompts of agents are Liquid; write \${${name}}`,
      };
    for (const [token, word = ''] of text.matchAll(DOTTED)) {
      const near = (SCOPE_ROOTS as readonly string[]).includes(word) ? null : nearestWord(word, SCOPE_ROOTS);
      if (near !== null) yield { path: at, text: `${token.slice(0, 80)} stays as it is; did you mean \${${near}…}?` };
    }
  }
}
