import type { ErrorCode } from '../../domain/errors.js';
import type { Json, JsonObject } from '../../domain/json.js';
import { nearestWord } from '../../domain/nearest-word.js';
import type { Backend, PromptSource, Step } from '../../domain/steps/plan.js';
import { SCOPE_ROOTS } from '../../domain/steps/tokens.js';
import type { Position, WarningCode } from '../../domain/workflow.js';
import { formatPath, type KeyPath, type Positions, type Problem } from '../positions.js';
import type { ShapeName, StepKind } from './step-schema.js';

/**
 * A step as written, with its positions. The checks read this and not the finished step, so that a step with one fault is still
 * checked for others.
 */
export interface StepNode {
  readonly keys: StepKeys;
  /** Null when the id is missing or invalid. */
  readonly id: string | null;
  readonly body: { readonly kind: StepKind } | { readonly shape: ShapeName } | null;
  /** The backend of an agent step. */
  readonly backend: Backend | null;
  /** The inner steps: a list for each branch of `parallel`, one list for the other shapes. */
  readonly lists: readonly (readonly StepNode[])[];
  /** Null: the step has a fault, which is reported. */
  readonly step: Step | null;
}

/** The keys of a step, those of its activity included. */
export interface StepKeys {
  readonly values: JsonObject;
  readonly path: KeyPath;
  /** The activity that the keys of `keys` come from. */
  readonly activity: { readonly name: string; readonly path: KeyPath; readonly keys: ReadonlySet<string> } | null;
  readonly positions: Positions;
}

/** `step "review"`, or the path of a step without a valid id. */
export function nameOf({ id, keys }: Pick<StepNode, 'id' | 'keys'>): string {
  return id === null ? formatPath(keys.path) : `step "${id}"`;
}

export function shapeOf({ body }: StepNode): ShapeName | null {
  return body !== null && 'shape' in body ? body.shape : null;
}

/** The position of the value of a key, or of the step. */
export function valuePosition(keys: StepKeys, path: KeyPath = []): Position {
  return keys.positions.valueAt(filePath(keys, path));
}

export function keyPosition(keys: StepKeys, path: KeyPath): Position {
  return keys.positions.keyAt(filePath(keys, path));
}

export function filePath({ path: own, activity }: StepKeys, path: KeyPath): KeyPath {
  const [key] = path;
  const isBorrowed = activity !== null && typeof key === 'string' && activity.keys.has(key);
  return [...(isBorrowed ? activity.path : own), ...path];
}

/** The text of a key; null when it is blank or not a text. */
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

/** What the readers of `steps`, `executors` and `services` get. */
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

/** Collects all faults and warnings, so that the user sees them at once. */
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

/** A hint: the keys in which tokens are filled in. */
const FILLED_KEYS_HINT = 'data goes into input, params, args of a tool, stdin, env, env_set, memory or prompt';

export interface TextFault {
  readonly path: KeyPath;
  readonly text: string;
}

/** Every text and every key in a value. */
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
 * The first `${…}` of each text in a value that is not filled in. Text of an issue must never become part of a command, a name
 * or an address.
 */
export function* unfilledTokens(value: Json, path: KeyPath): Generator<TextFault> {
  for (const { path: at, text, isKey } of textsIn(value, path)) {
    const token = TOKEN.exec(text)?.[0].slice(0, 80);
    if (token === undefined) continue;
    yield { path: at, text: `${token} is never filled in ${isKey ? 'as a key' : `here: ${FILLED_KEYS_HINT}`}` };
  }
}

/** Text that looks like a token but is not filled in: other words in braces, and Liquid. */
export function* lookalikes(value: Json, path: KeyPath): Generator<TextFault> {
  for (const { path: at, text } of textsIn(value, path)) {
    const [liquid, name] = LIQUID.exec(text) ?? [];
    if (liquid !== undefined)
      yield {
        path: at,
        text: `${liquid.slice(0, 80)} stays unchanged: only prompts of agents are Liquid; write \${${name}}`,
      };
    for (const [token, word = ''] of text.matchAll(DOTTED)) {
      const near = (SCOPE_ROOTS as readonly string[]).includes(word) ? null : nearestWord(word, SCOPE_ROOTS);
      if (near !== null) yield { path: at, text: `${token.slice(0, 80)} stays unchanged; did you mean \${${near}…}?` };
    }
  }
}
