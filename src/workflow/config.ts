import type { Config } from '../domain/config.js';
import { labelKey, stateKey } from '../domain/issue.js';
import type { Json, JsonObject } from '../domain/json.js';
import { nearestWord } from '../domain/nearest-word.js';
import type { FrontMatter } from './parse-front-matter.js';
import { formatPath, type KeyPath, type Positions, type Problem } from './positions.js';
import { formatValue, typeName, valueAt, zodProblems } from './problems.js';
import {
  FLAT_PROVIDER_KEYS,
  frontMatterSchema,
  nameForConfig,
  SECTIONS,
  type Settings,
  TOP_LEVEL_KEYS,
} from './schema.js';
import { positiveInteger } from './setting.js';
import { type RootContext, resolvePath, resolveWorkspaceRoot } from './workspace-root.js';

type Checked =
  | {
      readonly ok: true;
      readonly settings: Settings;
      readonly root: string;
      readonly rootWarning: Problem | null;
      /** `codex.readable` as absolute paths. */
      readonly readable: readonly string[];
      readonly defaults: TrackerDefaults;
    }
  | { readonly ok: false; readonly problems: readonly Problem[] };

interface ValidationContext extends RootContext {
  readonly trackerKinds: ReadonlyMap<string, TrackerDefaults>;
}

/** Reports all problems of the settings at once. */
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

  const readable = (parsed.data?.codex.readable ?? []).flatMap((entry, index) => {
    const path = ['codex', 'readable', index];
    const resolvedPath =
      entry.trim() === ''
        ? { problem: `codex.readable[${index}] must not be empty` }
        : resolvePath(entry, `codex.readable[${index}]`, context);
    if (typeof resolvedPath === 'string') return resolvedPath;
    problems.push({ at: positions.valueAt(path), text: resolvedPath.problem });
    return [];
  });

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
  const at = positions.valueAt(rootPath);
  const rootWarning = warning === null ? null : { at, text: warning, code: 'literal_variable' as const };
  return { ok: true, settings: parsed.data, root, rootWarning, readable, defaults };
}

function unsupportedKind(kind: string, known: readonly string[]): string {
  const near = nearestWord(kind.trim(), known);
  const hint = near === null ? '' : `; did you mean ${near}?`;
  return `tracker.kind ${describe(['tracker', 'kind'], kind)} is not supported: ${oneOf(known)}${hint}`;
}

function oneOf(kinds: readonly string[]): string {
  return kinds.length === 0 ? 'this build of Baton ships no tracker adapter yet' : `use one of ${kinds.join(', ')}`;
}

/** A value in the tracker's settings may be a misplaced token, so only its type is shown. */
function describe(path: KeyPath, value: Json | undefined): string {
  return path[0] === 'tracker' && (path.length === 1 || path[1] === 'provider') ? typeName(value) : formatValue(value);
}

/** The adapter's states, for a file that names none. */
export interface TrackerDefaults {
  readonly activeStates: readonly string[];
  readonly terminalStates: readonly string[];
}

const DEFAULT_MAX_TURN_MS = 6 * 3_600_000;

/** Turns validated settings into the typed config. `warn` receives harmless oddities. */
export function buildConfig(
  settings: Settings,
  { root, readable }: { readonly root: string; readonly readable: readonly string[] },
  defaults: TrackerDefaults,
  positions: Positions,
  warn: (problem: Problem) => void,
): Config {
  const { agent, codex, hooks, workspace, ...named } = nameForConfig(settings);
  return complete({
    ...named,
    tracker: trackerConfig(settings.tracker, defaults, positions, warn),
    workspace: { ...workspace, root },
    hooks: {
      scripts: {
        after_create: settings.hooks.after_create,
        before_run: settings.hooks.before_run,
        after_run: settings.hooks.after_run,
        before_remove: settings.hooks.before_remove,
      },
      timeoutMs: hooks.timeoutMs,
      envAllow: hooks.envAllow,
    },
    agent: {
      ...agent,
      maxConcurrentAgentsByState: stateLimits(settings.agent.max_concurrent_agents_by_state, positions, warn),
    },
    codex: {
      ...codex,
      readable,
      maxTurnMs: codex.maxTurnMs ?? Math.max(DEFAULT_MAX_TURN_MS, codex.turnTimeoutMs),
      approvalPolicy: codex.approvalPolicy ?? (codex.onApprovalRequest === 'ask' ? 'on-request' : 'never'),
    },
  });
}

/** The compiler rejects a setting that `Config` lacks, and a part of `Config` that no setting declares. */
function complete<C extends Config>(config: C & OnlyKeysOf<Config, C>): Config {
  return config;
}

type OnlyKeysOf<Known, C> = {
  [S in keyof C]: S extends keyof Known ? { [K in keyof C[S]]: K extends keyof Known[S] ? C[S][K] : never } : never;
};

function trackerConfig(
  tracker: Settings['tracker'],
  defaults: TrackerDefaults,
  positions: Positions,
  warn: (problem: Problem) => void,
): Config['tracker'] {
  const activeStates = tracker.active_states ?? defaults.activeStates;
  const terminalStates = tracker.terminal_states ?? defaults.terminalStates;
  const at = positions.valueAt(['tracker', 'active_states']);
  if (activeStates.length === 0) {
    const text = 'tracker.active_states is empty: no issue will ever be started';
    warn({ at, text, code: 'no_active_state' });
  }
  const terminalKeys = new Set(terminalStates.map(stateKey));
  for (const state of activeStates.filter((active) => terminalKeys.has(stateKey(active)))) {
    const text = `${JSON.stringify(state)} is both an active and a terminal state; it counts as terminal`;
    warn({ at, text, code: 'ambiguous_state', params: { state } });
  }
  return {
    kind: tracker.kind.trim(),
    provider: providerOf(tracker, positions, warn),
    activeStates,
    terminalStates,
    requiredLabels: tracker.required_labels.map(labelKey),
    trust: tracker.trust,
    mentions: tracker.mentions,
    ...(FLAT_PROVIDER_KEYS.some((key) => (tracker[key] ?? null) !== null) ? { isFlatForm: true } : {}),
  };
}

function providerOf(tracker: Settings['tracker'], positions: Positions, warn: (problem: Problem) => void): JsonObject {
  const provider = new Map<string, Json>(Object.entries(tracker.provider));
  for (const key of FLAT_PROVIDER_KEYS) {
    const flat = tracker[key];
    if (flat === undefined || flat === null) continue;
    if ((provider.get(key) ?? null) === null) provider.set(key, flat);
    else {
      const text = `tracker.${key} has no effect: tracker.provider.${key} is set too`;
      warn({ at: positions.keyAt(['tracker', key]), text, code: 'overridden_key', params: { key: `tracker.${key}` } });
    }
  }
  return Object.fromEntries(provider);
}

function stateLimits(
  limits: Readonly<Record<string, Json>>,
  positions: Positions,
  warn: (problem: Problem) => void,
): { readonly [state: string]: number } {
  const valid = new Map<string, number>();
  for (const [state, limit] of Object.entries(limits)) {
    const path = ['agent', 'max_concurrent_agents_by_state', state];
    const parsed = positiveInteger.safeParse(limit);
    if (parsed.success && stateKey(state) !== '') valid.set(stateKey(state), parsed.data);
    else {
      const text = `agent.max_concurrent_agents_by_state: ${JSON.stringify(state)} is ignored, its limit must be a positive integer`;
      warn({ at: positions.valueAt(path), text, code: 'invalid_entry', params: { key: formatPath(path) } });
    }
  }
  return Object.fromEntries(valid);
}

/** One warning for each unknown key, with the key that was probably meant. */
export function unknownKeys(values: JsonObject, positions: Positions): Problem[] {
  const warnings = unknownAmong(values, [], TOP_LEVEL_KEYS, positions);
  for (const [section, shape] of Object.entries(SECTIONS)) {
    const value = values[section];
    if (typeof value !== 'object' || value === null || Array.isArray(value)) continue;
    warnings.push(...unknownAmong(value as JsonObject, [section], Object.keys(shape), positions));
  }
  return warnings;
}

function unknownAmong(values: JsonObject, path: KeyPath, known: readonly string[], positions: Positions): Problem[] {
  return Object.keys(values)
    .filter((name) => !known.includes(name))
    .map((name) => {
      const key = formatPath([...path, name]);
      const suggestion = suggestedKey(name, path, known);
      const hint = suggestion === null ? '' : `; did you mean ${suggestion}?`;
      const text = `unknown key ${key} has no effect${hint}`;
      return { at: positions.keyAt([...path, name]), text, code: 'unknown_key', params: { key, suggestion } };
    });
}

function suggestedKey(key: string, path: KeyPath, known: readonly string[]): string | null {
  const near = nearestWord(key, known);
  if (near !== null) return formatPath([...path, near]);
  for (const [section, shape] of Object.entries(SECTIONS)) {
    const elsewhere = nearestWord(key, Object.keys(shape));
    if (elsewhere !== null) return `${section}.${elsewhere}`;
  }
  return null;
}
