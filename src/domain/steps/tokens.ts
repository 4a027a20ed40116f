import { BatonError } from '../errors.js';
import type { Json } from '../json.js';
import { nearestWord } from '../nearest-word.js';

/** The roots of `${…}`. A `${…}` with another root is left unchanged, so that shell text survives. */
export const SCOPE_ROOTS = ['issue', 'attempt', 'run', 'inputs', 'steps', 'state', 'item', 'iteration'] as const;

/** The data of a run that steps can refer to. */
export type Scope = { readonly [root: string]: Json };

export interface Token {
  /** The parts of `steps.plan.output`. */
  readonly path: readonly [root: string, ...rest: string[]];
  /** As written, braces included. */
  readonly text: string;
}

/** Deeper data would overflow the stack, here or in the receiver. */
const MAX_DEPTH = 200;
const MAX_TOKEN_LENGTH = 1_000;
/** Prevents a few tokens from multiplying large data until memory runs out. */
const MAX_TEXT_LENGTH = 10_000_000;

const OPENING = new RegExp(`\\$\\$\\{|\\$\\{\\s*(?:${SCOPE_ROOTS.join('|')})\\b[^{}$]*\\}?`, 'g');

/** Literal pieces and tokens in order; `$${` is a literal `${`. Throws `step_data_error` for a malformed token. */
export function parseText(text: string): readonly (string | Token)[] {
  const parts: (string | Token)[] = [];
  let end = 0;
  for (const match of text.matchAll(OPENING)) {
    const [written] = match;
    parts.push(text.slice(end, match.index), written === '$${' ? '${' : tokenOf(written));
    end = match.index + written.length;
  }
  return [...parts, text.slice(end)].filter((part) => part !== '');
}

/** Every token in the texts of a value. Throws `step_data_error`. */
export function tokensIn(value: Json): Token[] {
  return [...textsIn(value)].flatMap((text) => parseText(text).filter((part) => typeof part !== 'string'));
}

/** Fills in the tokens of every text in a value. A text that is a single token gets the type of its data. Throws `step_data_error`. */
export function renderValue(value: Json, scope: Scope): Json {
  return filledIn(value, scope, 0);
}

/** Fills in the tokens of a text. Data that is not text is written as JSON, and null as an empty text. */
export function renderText(text: string, scope: Scope): string {
  return joined(parseText(text), scope);
}

/** Reads own properties only. Throws `step_data_error` for a missing one, so that a misspelled name does not pass as empty. */
export function lookUp({ path, text }: Token, scope: Scope): Json {
  let value: Json = scope;
  for (const [index, name] of path.entries()) {
    if (!has(value, name)) throw new BatonError('step_data_error', unknown(text, path.slice(0, index), name, value));
    value = value[name] as Json;
  }
  if (isDeeper(value, MAX_DEPTH)) throw tooDeep(shortened(text));
  return value;
}

function tokenOf(written: string): Token {
  if (written.length > MAX_TOKEN_LENGTH) throw malformed(written, `it is longer than ${MAX_TOKEN_LENGTH} characters`);
  if (!written.endsWith('}')) throw malformed(written, 'it has no closing brace');
  const words = written.slice(2, -1).trim();
  if (!/^\w+(?:\.[\w-]+|\[\d+\])*$/.test(words))
    throw malformed(written, 'write it as ${root.name.name} or ${root.name[0]}');
  const [root = '', ...rest] = words.split(/[.[\]]+/).filter((part) => part !== '');
  return { path: [root, ...rest], text: written };
}

function* textsIn(value: Json, depth = 0): Generator<string> {
  if (depth > MAX_DEPTH) throw tooDeep('A value');
  if (typeof value === 'string') yield value;
  else if (typeof value === 'object' && value !== null)
    for (const item of Object.values(value)) yield* textsIn(item as Json, depth + 1);
}

function filledIn(value: Json, scope: Scope, depth: number): Json {
  if (depth > MAX_DEPTH) throw tooDeep('A value');
  if (typeof value === 'string') {
    const parts = parseText(value);
    const [only] = parts;
    if (parts.length === 1 && only !== undefined && typeof only !== 'string') return lookUp(only, scope);
    return joined(parts, scope);
  }
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((item) => filledIn(item as Json, scope, depth + 1));
  // From entries, so that `__proto__` is an ordinary key.
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, filledIn(item, scope, depth + 1)]));
}

function joined(parts: readonly (string | Token)[], scope: Scope): string {
  let length = 0;
  const texts = parts.map((part) => {
    const text = typeof part === 'string' ? part : textOf(lookUp(part, scope));
    length += text.length;
    if (length <= MAX_TEXT_LENGTH) return text;
    throw new BatonError(
      'step_data_error',
      `A text becomes longer than ${MAX_TEXT_LENGTH} characters when it is filled in; put less data into it`,
    );
  });
  return texts.join('');
}

function textOf(value: Json): string {
  if (value === null) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** Excludes inherited properties and the `length` of a list. */
function has(value: Json, name: string): value is { readonly [key: string]: Json } {
  return typeof value === 'object' && value !== null && Object.prototype.propertyIsEnumerable.call(value, name);
}

function isDeeper(value: Json, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((item) => isDeeper(item as Json, levels - 1));
}

function tooDeep(what: string): BatonError {
  return new BatonError('step_data_error', `${what} is nested more than ${MAX_DEPTH} levels deep; make it flatter`);
}

function malformed(written: string, why: string): BatonError {
  const message = `${shortened(written)} cannot be read: ${why}; a literal \${ is written $\${`;
  return new BatonError('step_data_error', message);
}

function unknown(token: string, before: readonly string[], name: string, value: Json): string {
  const [text, where, missing] = [token, before.join('.'), name].map(shortened);
  if (value === null) return `${text}: ${where} is null (a skipped step has no output), so it has no ${missing}`;
  if (typeof value !== 'object') return `${text}: ${where} is no map, so it has no ${missing}`;
  if (Array.isArray(value)) return `${text}: ${where} is a list of ${value.length}, so it has no ${missing}`;
  // Keys are untrusted data, so only a few short ones are shown and compared.
  const known = Object.keys(value)
    .filter((key) => key.length <= 60)
    .slice(0, 200);
  const near = nearestWord(name, known);
  const some = known.slice(0, 12).join(', ');
  const hint = near !== null ? `; did you mean ${near}?` : some === '' ? '' : `; there is ${some}`;
  return where === '' ? `${text} is not known here${hint}` : `${text}: ${where} has no ${missing}${hint}`;
}

function shortened(text: string): string {
  return text.length > 100 ? `${text.slice(0, 99)}…` : text;
}
