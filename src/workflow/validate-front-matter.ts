import type { z } from 'zod';
import type { Json } from '../domain/json.js';
import { nearestWord } from '../domain/nearest-word.js';
import type { TrackerDefaults } from './build-config.js';
import type { FrontMatter } from './parse-front-matter.js';
import { formatPath, type KeyPath, type Problem } from './positions.js';
import { frontMatterSchema, type Settings } from './schema.js';
import { type RootContext, resolveWorkspaceRoot } from './workspace-root.js';

export type Checked =
  | {
      readonly ok: true;
      readonly settings: Settings;
      readonly root: string;
      readonly rootWarning: Problem | null;
      readonly defaults: TrackerDefaults;
    }
  | { readonly ok: false; readonly problems: readonly Problem[]; readonly isKindOnly: boolean };

export interface ValidationContext extends RootContext {
  readonly trackerKinds: ReadonlyMap<string, TrackerDefaults>;
}

/** Checks everything before it gives up: a person sees all problems of the file at once. */
export async function validateFrontMatter(frontMatter: FrontMatter, context: ValidationContext): Promise<Checked> {
  const { values, positions } = frontMatter;
  const parsed = frontMatterSchema.safeParse(values);
  const kinds = [...context.trackerKinds.keys()];
  const problems: Problem[] = (parsed.error?.issues ?? []).map(innermost).map((issue) => {
    const path = issue.path.map((part) => (typeof part === 'symbol' ? String(part) : part));
    const value = valueAt(values, path) ?? null;
    const isKindMissing = value === null && ['tracker', 'tracker.kind'].includes(formatPath(path));
    const text = isKindMissing
      ? `tracker.kind is required: ${oneOf(kinds)}`
      : `${formatPath(path)} ${issue.message}, got ${describe(path, value)}`;
    return { at: positions.valueAt(path), text };
  });

  if (values.steps !== undefined && values.steps !== null) {
    const text = 'steps cannot be run by this version of Baton; remove the key, the prompt below is then the one step';
    problems.push({ at: positions.keyAt(['steps']), text });
  }

  const rootPath = ['workspace', 'root'];
  const written = valueAt(values, rootPath);
  const isUsable = typeof written === 'string' && written.trim() !== '';
  const resolved = await resolveWorkspaceRoot(isUsable ? written : null, context);
  if ('problem' in resolved) problems.push({ at: positions.valueAt(rootPath), text: resolved.problem });

  const kind = valueAt(values, ['tracker', 'kind']);
  const defaults = typeof kind === 'string' ? context.trackerKinds.get(kind.trim()) : undefined;
  const others = problems.length;
  if (typeof kind === 'string' && kind.trim() !== '' && defaults === undefined) {
    const text = unsupportedKind(kind, kinds);
    problems.push({ at: positions.valueAt(['tracker', 'kind']), text });
  }

  if (problems.length > 0 || !parsed.success || defaults === undefined || 'problem' in resolved) {
    return { ok: false, problems, isKindOnly: others === 0 };
  }
  const { root, warning } = resolved;
  const rootWarning = warning === null ? null : { at: positions.valueAt(rootPath), text: warning };
  return { ok: true, settings: parsed.data, root, rootWarning, defaults };
}

/** "must be a list, got a list" helps nobody: where one form of a setting fits but for an item, that item is the problem. */
function innermost(issue: z.core.$ZodIssue): Pick<z.core.$ZodIssue, 'path' | 'message'> {
  const inner = issue.code === 'invalid_union' ? issue.errors.flat().find(({ path }) => path.length > 0) : undefined;
  return inner ? { path: [...issue.path, ...inner.path], message: inner.message } : issue;
}

function unsupportedKind(kind: string, known: readonly string[]): string {
  const near = nearestWord(kind.trim(), known);
  const hint = near === null ? '' : `; did you mean ${near}?`;
  return `tracker.kind ${describe(['tracker', 'kind'], kind)} is not supported: ${oneOf(known)}${hint}`;
}

function oneOf(kinds: readonly string[]): string {
  return kinds.length === 0 ? 'this build of Baton ships no tracker adapter yet' : `use one of ${kinds.join(', ')}`;
}

function valueAt(values: Json, path: KeyPath): Json | undefined {
  let value: Json | undefined = values;
  for (const part of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, part)) return undefined;
    value = (value as { readonly [key: string]: Json })[part];
  }
  return value;
}

/** A value as it may be shown. In place of the tracker's settings it may be a misplaced token: its type is enough. */
function describe(path: KeyPath, value: Json | undefined): string {
  if (value === undefined || value === null) return 'nothing';
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object') return 'a map';
  if (path[0] === 'tracker' && (path.length === 1 || path[1] === 'provider'))
    return typeof value === 'string' ? 'text' : `a ${typeof value}`;
  const shown = JSON.stringify(value);
  return shown.length > 80 ? `${shown.slice(0, 77)}…` : shown;
}
