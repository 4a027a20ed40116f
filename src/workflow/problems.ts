import { z } from 'zod';
import { BatonError, type ErrorCode } from '../domain/errors.js';
import type { Json } from '../domain/json.js';
import { nearestWord } from '../domain/nearest-word.js';
import { formatProblem } from '../domain/workflow.js';
import { completeProblem, FILE_START, formatPath, inFileOrder, type KeyPath, type Problem } from './positions.js';

/** A fault that zod found. */
export interface ZodProblem {
  readonly path: KeyPath;
  readonly message: string;
  /** The last part of `path` is an unknown key. */
  readonly isUnknownKey: boolean;
  /** The fault is the key itself, and not its value. */
  readonly isOfKey: boolean;
}

export function zodProblems(error: z.ZodError | undefined): ZodProblem[] {
  return (error?.issues ?? []).flatMap((issue): ZodProblem[] => {
    const { path: raw, message, keys } = innermost(issue);
    const path = raw.map((part) => (typeof part === 'symbol' ? String(part) : part));
    if (issue.code === 'invalid_key')
      return [{ path, message: issue.issues[0]?.message ?? message, isUnknownKey: false, isOfKey: true }];
    if (keys === undefined) return [{ path, message, isUnknownKey: false, isOfKey: false }];
    return keys.map((key) => ({ path: [...path, key], message, isUnknownKey: true, isOfKey: true }));
  });
}

/** Where one form of a union fits except for an item, that item is the problem: "must be a list, got a list" would not help. */
function innermost(issue: z.core.$ZodIssue): Pick<z.core.$ZodIssue, 'path' | 'message'> & { keys?: string[] } {
  if (issue.code === 'unrecognized_keys') return issue;
  const inner = issue.code === 'invalid_union' ? issue.errors.flat().find(({ path }) => path.length > 0) : undefined;
  return inner ? { path: [...issue.path, ...inner.path], message: inner.message } : issue;
}

/** "retry.max_attempts must be …, got 0". `known` are the keys on the level of an unknown key. */
export function formatZodProblem(
  { path, message, isUnknownKey, isOfKey }: ZodProblem,
  values: Json,
  known: readonly string[],
): string {
  const name = formatPath(path);
  if (isUnknownKey) {
    return `unknown key ${name}; ${suggestName(String(path.at(-1)), known)}`;
  }
  if (isOfKey) return `${name} ${message}`;
  const value = valueAt(values, path) ?? null;
  if (value === null) return `${name} is missing; it ${message}`;
  return `${name} ${message}, got ${SECRET.test(name) ? typeName(value) : formatValue(value)}`;
}

/** "did you mean …?", or the existing names. */
export function suggestName(name: string, known: readonly string[]): string {
  const near = nearestWord(name, known);
  if (near !== null) return `did you mean ${near}?`;
  return known.length === 0 ? 'there are none' : `there are ${known.slice(0, MAX_NAMES).join(', ')}`;
}

const MAX_NAMES = 25;

/** The keys that a schema knows on the level of the last part of `path`. */
export function knownKeysAt(schema: z.ZodType, path: KeyPath): readonly string[] {
  let current: z.ZodType | null = inner(schema);
  for (const part of path.slice(0, -1)) {
    const next: unknown = current instanceof z.ZodObject ? current.shape[String(part)] : null;
    current = next instanceof z.ZodType ? inner(next) : null;
  }
  return current instanceof z.ZodObject ? Object.keys(current.shape) : [];
}

/** The schema of a setting without its default and description. */
function inner(schema: z.ZodType): z.ZodType {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable) return inner(schema.unwrap() as z.ZodType);
  if (schema instanceof z.ZodNonOptional) return inner(schema.unwrap() as z.ZodType);
  if (schema instanceof z.ZodPipe) return inner(schema.in as z.ZodType);
  return schema;
}

const SECRET = /(?:^|\.)(?:token|base_url|env|env_set)(?:\.|$)/;

export function valueAt(values: Json, path: KeyPath): Json | undefined {
  let value: Json | undefined = values;
  for (const part of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, part)) return undefined;
    value = (value as { readonly [key: string]: Json })[part];
  }
  return value;
}

/** A value for a message. */
export function formatValue(value: Json | undefined): string {
  if (value === undefined || value === null || typeof value === 'object') return typeName(value);
  const text = JSON.stringify(value);
  return text.length > 80 ? `${text.slice(0, 77)}…` : text;
}

/** The type of a value that may be a secret. */
export function typeName(value: Json | undefined): string {
  if (value === undefined || value === null) return 'nothing';
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object') return 'a map';
  return typeof value === 'string' ? 'text' : `a ${typeof value}`;
}

/** Everything that is wrong with a workflow as one error. `hints` are unknown keys, which alone are not an error. */
export function loadError(
  name: string,
  isFrontMatterPresent: boolean,
  faults: readonly Problem[],
  hints: readonly Problem[],
): BatonError {
  const problems = inFileOrder([...faults, ...hints]).map((problem) => completeProblem(name, problem));
  const lines = problems.map(formatProblem);
  if (!isFrontMatterPresent) {
    const text = `${name} has no front matter: begin the file with settings between two \`---\` lines.`;
    lines.push(text);
    problems.push(completeProblem(name, { at: FILE_START, text }));
  }
  const codes = new Set(faults.map((fault) => completeProblem(name, fault).code as ErrorCode));
  const [only] = codes;
  const code = codes.size === 1 && only !== undefined ? only : 'invalid_workflow_config';
  return new BatonError(code, lines.join('\n'), { problems });
}
