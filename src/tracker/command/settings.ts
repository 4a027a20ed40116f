import { BatonError } from '../../domain/errors.js';
import { ProviderSettings } from '../provider-settings.js';
import type { TrackerOptions } from '../registry.js';

export const KIND = 'command';
export const DEFAULTS = { activeStates: ['Todo', 'In Progress'], terminalStates: ['Done', 'Closed', 'Cancelled'] };
const KEYS = ['command', 'env', 'timeout_ms', 'scope'];
const DEFAULT_TIMEOUT_MS = 30_000;
const MAX_TIMEOUT_MS = 600_000;

export interface CommandSettings {
  readonly command: string;
  readonly env: { readonly [name: string]: string };
  /** The daemon's variables whose values are in `env`. */
  readonly variables: readonly string[];
  readonly timeoutMs: number;
  readonly scope: string;
}

/** Throws `invalid_tracker_config` and `missing_tracker_secret`. */
export function readCommandSettings(options: Pick<TrackerOptions, 'config' | 'secret' | 'dir'>): CommandSettings {
  const settings = new ProviderSettings(options, KEYS);
  const command = settings.needText('command', 'node tracker.mjs');
  const variables: string[] = [];
  const env = [...environmentIn(settings, options)].map(([name, written]) => {
    if (!/^[A-Za-z_]\w*$/.test(name)) throw settings.wrong(`env.${name}`, 'is not the name of a variable');
    const variable = /^\$([A-Za-z_]\w*)$/.exec(written.trim())?.[1];
    const value = variable === undefined ? written : secretOf(variable, name, options);
    if (value.includes('\0')) throw settings.wrong(`env.${name}`, 'contains a NUL');
    if (variable !== undefined) variables.push(variable);
    return [name, value] as const;
  });
  // The same command in another folder is another tracker.
  const scope = `${KIND}:${settings.text('scope') ?? `${command} in ${options.dir}`}`;
  return { command, env: Object.fromEntries(env), variables, timeoutMs: timeoutOf(settings), scope };
}

/** A value that is not a map may be a secret, so it is not shown. */
function environmentIn(settings: ProviderSettings, { config }: Pick<TrackerOptions, 'config'>) {
  const { env = null } = config.provider;
  if (env === null || settings.isMap('env')) return settings.map('env');
  const message = 'tracker.provider.env must be a map of variables, such as `env: { TOKEN: $MY_TOKEN }`.';
  throw new BatonError('invalid_tracker_config', message);
}

function secretOf(variable: string, name: string, options: Pick<TrackerOptions, 'secret'>): string {
  const value = options.secret(variable);
  if (value !== null) return value;
  const message = `tracker.provider.env.${name} stands for ${variable}, which is not set or empty. Set ${variable} where the daemon is started.`;
  throw new BatonError('missing_tracker_secret', message, { variable });
}

function timeoutOf(settings: ProviderSettings): number {
  const written = settings.text('timeout_ms');
  if (written === null) return DEFAULT_TIMEOUT_MS;
  const ms = /^\d{1,9}$/.test(written) ? Number(written) : 0;
  if (ms >= 1 && ms <= MAX_TIMEOUT_MS) return ms;
  throw settings.wrong('timeout_ms', `must be a whole number of milliseconds, from 1 to ${MAX_TIMEOUT_MS}`);
}
