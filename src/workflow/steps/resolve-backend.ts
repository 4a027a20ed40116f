import type { Config } from '../../domain/config.js';
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
  readonly setting: Config['runtime']['backend'];
}

interface Tier {
  readonly source: ResolvedBackend['source'];
  readonly said: string;
}

/**
 * Flag, variable, `runtime.backend`, constant: the first that is set decides. One that says `auto` means the constant, and those
 * below it are not asked. A value that is none is refused wherever it stands: it would come into effect some other day.
 */
export function resolveBackend(tiers: BackendTiers): { backend: ResolvedBackend; problems: Problem[] } {
  const said = tiersOf(tiers);
  const problems = said.flatMap((tier) => (isValue(tier.said) ? [] : [refusal(tier)]));
  const first = said.find((tier) => isValue(tier.said));
  if (first === undefined)
    return { backend: { value: FALLBACK_BACKEND, source: 'built-in', saidAuto: false }, problems };
  const saidAuto = first.said === 'auto';
  const value = saidAuto ? FALLBACK_BACKEND : (first.said as Backend);
  return { backend: { value, source: first.source, saidAuto }, problems };
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
  if (setting !== null) tiers.push({ source: 'runtime.backend', said: setting });
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
