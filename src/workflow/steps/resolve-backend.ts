import type { Json } from '../../domain/json.js';
import type { Backend, ResolvedBackend } from '../../domain/steps/plan.js';
import { FILE_START, type Problem } from '../positions.js';

/** The default of `backend: auto`. */
export const FALLBACK_BACKEND: Backend = 'http';

const VALUES = ['http', 'cli', 'auto'] as const;
/** The first variable that is set decides. */
const VARIABLES = ['BATON_BACKEND', 'ORBIT_BACKEND'] as const;

export interface BackendTiers {
  /** The value of `--backend`. */
  readonly flag?: string | undefined;
  readonly env: NodeJS.ProcessEnv;
  /** `runtime.backend` as written. */
  readonly setting: Json;
}

interface Tier {
  readonly source: ResolvedBackend['source'];
  readonly value: string;
}

/**
 * Flag, variable, `runtime.backend`, built-in value: the first that is set decides. `auto` means the built-in value. Every invalid
 * value is rejected, even where it does not decide.
 */
export function resolveBackend(tiers: BackendTiers): {
  readonly backend: ResolvedBackend;
  /** Null when a value is invalid. */
  readonly auto: Backend | null;
  readonly problems: readonly Problem[];
} {
  const set = tiersOf(tiers);
  const refused = set.filter((tier) => !isValue(tier.value));
  // The validation of the settings reports `runtime.backend`, with its position.
  const problems = refused.filter(({ source }) => source !== 'runtime.backend').map(refusal);
  const first = set.find((tier) => isValue(tier.value));
  const saidAuto = first?.value === 'auto';
  const value = first === undefined || saidAuto ? FALLBACK_BACKEND : (first.value as Backend);
  const backend = { value, source: first?.source ?? 'built-in', saidAuto } as const;
  return { backend, auto: refused.length > 0 ? null : value, problems };
}

/** `backend: auto became cli, because runtime.backend is set` */
export function describeBackend({ value, source, saidAuto }: ResolvedBackend): string {
  const who = source === 'flag' ? '--backend' : source;
  const why =
    source === 'built-in'
      ? 'nothing else is set'
      : saidAuto
        ? `${who} is auto, which means the built-in value`
        : `${who} is set`;
  return `backend: auto became ${value}, because ${why}`;
}

function tiersOf({ flag, env, setting }: BackendTiers): Tier[] {
  const tiers: Tier[] = flag === undefined ? [] : [{ source: 'flag', value: flag.trim() }];
  for (const source of VARIABLES) {
    const value = env[source]?.trim() ?? '';
    if (value !== '') tiers.push({ source, value });
  }
  if (setting !== null) tiers.push({ source: 'runtime.backend', value: String(setting) });
  return tiers;
}

function isValue(value: string): boolean {
  return (VALUES as readonly string[]).includes(value);
}

function refusal({ source, value }: Tier): Problem {
  const who = source === 'flag' ? 'the flag --backend' : `the variable ${source}`;
  const shown = JSON.stringify(value.length > 40 ? `${value.slice(0, 39)}…` : value);
  const text = `${who} must be one of ${VALUES.join(', ')}, got ${shown}`;
  return { at: FILE_START, text, code: 'invalid_backend', file: null };
}
