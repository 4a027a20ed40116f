import type { Json } from '../domain/json.js';
import { nearestWord } from '../text/nearest-word.js';
import type { TrackerDefaults } from './build-config.js';
import type { FrontMatter } from './parse-front-matter.js';
import { formatPath, type KeyPath, type Problem } from './positions.js';
import { frontMatterSchema, type Settings } from './schema.js';
import { type RootContext, resolveWorkspaceRoot } from './workspace-root.js';
import { kindOf, shown, valueAt, zodProblems } from './problems.js';

export type Checked =
  | {
      readonly ok: true;
      readonly settings: Settings;
      readonly root: string;
      readonly rootWarning: Problem | null;
      readonly defaults: TrackerDefaults;
    }
  | { readonly ok: false; readonly problems: readonly Problem[] };

export interface ValidationContext extends RootContext {
  readonly trackerKinds: ReadonlyMap<string, TrackerDefaults>;
}

/** Checks everything before it gives up: a person sees all problems of the file at once. */
export async function validateFrontMatter(frontMatter: FrontMatter, context: ValidationContext): Promise<Checked> {
  const { values, positions } = frontMatter;
  const parsed = frontMatterSchema.safeParse(values);
  const kinds = [...context.trackerKinds.keys()];
  const problems: Problem[] = zodProblems(parsed.error).map(({ path, message }) => {
    const value = valueAt(values, path) ?? null;
    const name = formatPath(path);
    const isKindMissing = value === null && ['tracker', 'tracker.kind'].includes(name);
    const text = isKindMissing
      ? `tracker.kind is required: ${oneOf(kinds)}`
      : `${name} ${message}, got ${describe(path, value)}`;
    return { at: positions.valueAt(path), text, ...(name === 'runtime.backend' ? { code: 'invalid_backend' } : {}) };
  });

  const rootPath = ['workspace', 'root'];
  const written = valueAt(values, rootPath);
  const isUsable = typeof written === 'string' && written.trim() !== '';
  const resolved = await resolveWorkspaceRoot(isUsable ? written : null, context);
  if ('problem' in resolved) problems.push({ at: positions.valueAt(rootPath), text: resolved.problem });

  const kind = valueAt(values, ['tracker', 'kind']);
  const defaults = typeof kind === 'string' ? context.trackerKinds.get(kind.trim()) : undefined;
  if (typeof kind === 'string' && kind.trim() !== '' && defaults === undefined) {
    const text = unsupportedKind(kind, kinds);
    problems.push({ at: positions.valueAt(['tracker', 'kind']), text, code: 'unsupported_tracker_kind' });
  }

  if (problems.length > 0 || !parsed.success || defaults === undefined || 'problem' in resolved) {
    return { ok: false, problems };
  }
  const { root, warning } = resolved;
  const rootWarning = warning === null ? null : { at: positions.valueAt(rootPath), text: warning };
  return { ok: true, settings: parsed.data, root, rootWarning, defaults };
}

function unsupportedKind(kind: string, known: readonly string[]): string {
  const near = nearestWord(kind.trim(), known);
  const hint = near === null ? '' : `; did you mean ${near}?`;
  return `tracker.kind ${describe(['tracker', 'kind'], kind)} is not supported: ${oneOf(known)}${hint}`;
}

function oneOf(kinds: readonly string[]): string {
  return kinds.length === 0 ? 'this build of Baton ships no tracker adapter yet' : `use one of ${kinds.join(', ')}`;
}

/** In place of the tracker's settings it may be a misplaced token: its type is enough. */
function describe(path: KeyPath, value: Json | undefined): string {
  return path[0] === 'tracker' && (path.length === 1 || path[1] === 'provider') ? kindOf(value) : shown(value);
}
