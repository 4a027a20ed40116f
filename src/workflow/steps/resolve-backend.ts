import type { Json } from '../../domain/json.js';
import type { Backend, ResolvedBackend } from '../../domain/steps/plan.js';
import { FILE_START, type Problem } from '../positions.js';

/** What `backend: auto` becomes when nobody says anything else. */
export const FALLBACK_BACKEND: Backend = 'http';

const VALUES = ['http', 'cli', 'auto'] as const;
/** The first one that is set counts. */
const VARIABLES = ['BATON_BACKEND', 'ORBIT_BACKEND'] as const;

export interface BackendTiers {
  /** What `--backend` said. */
  readonly flag?: string | undefined;
  readonly env: NodeJS.ProcessEnv;
  /** `runtime.backend` as written. */
  readonly setting: Json;
}

interface Tier {
  readonly source: ResolvedBackend['source'];
  readonly said: string;
}

/**
 * Flag, variable, `runtime.backend`, constant: the first that is set decides. One that says `auto` means the constant, and those
 * below it are not asked. A value that is none is refused wherever it stands: it would come into effect some other day.
 */
export function resolveBackend(tiers: BackendTiers): {
  readonly backend: ResolvedBackend;
  /** `null`: somebody said what cannot be, so nobody knows what was meant. */
  readonly auto: Backend | null;
  readonly problems: readonly Problem[];
} {
  const said = tiersOf(tiers);
  const refused = said.filter((tier) => !isValue(tier.said));
  // The setting is refused with all other settings, at its place in the file.
  const problems = refused.filter(({ source }) => source !== 'runtime.backend').map(refusal);
  const first = said.find((tier) => isValue(tier.said));
  const saidAuto = first?.said === 'auto';
  const value = first === undefined || saidAuto ? FALLBACK_BACKEND : (first.said as Backend);
  const backend = { value, source: first?.source ?? 'built-in', saidAuto } as const;
  return { backend, auto: refused.length > 0 ? null : value, problems };
}

/** `backend: auto became cli, because runtime.backend says so` */
export function describeBackend({ value, source, saidAuto }: ResolvedBackend): string {
  const who = source === 'flag' ? '--backend' : source;
  const why =
    source === 'built-in'
      ? 'nothing says otherwise'
      : saidAuto
        ? `${who} says auto, which stands for the built-in value`
        : `${who} says so`;
  return `backend: auto became ${value}, because ${why}`;
}

function tiersOf({ flag, env, setting }: BackendTiers): Tier[] {
  const tiers: Tier[] = flag === undefined ? [] : [{ source: 'flag', said: flag.trim() }];
  for (const source of VARIABLES) {
    const said = env[source]?.trim() ?? '';
    if (said !== '') tiers.push({ source, said });
  }
  if (setting !== null) tiers.push({ source: 'runtime.backend', said: String(setting) });
  return tiers;
}

function isValue(said: string): boolean {
  return (VALUES as readonly string[]).includes(said);
}

function refusal({ source, said }: Tier): Problem {
  const who = source === 'flag' ? 'the flag --backend' : `the variable ${source}`;
  const shown = JSON.stringify(said.length > 40 ? `${said.slice(0, 39)}…` : said);
  const text = `${who} must be one of ${VALUES.join(', ')}, got ${shown}`;
  return { at: FILE_START, text, code: 'invalid_backend', file: null };
}
