import { homedir } from 'node:os';
import path from 'node:path';
import { DEFAULT_BACKLOG } from '../../domain/config.js';
import { BatonError } from '../../domain/errors.js';
import { ProviderSettings } from '../provider-settings.js';
import type { TrackerOptions } from '../registry.js';

export const KIND = 'local';
export const DEFAULTS = { activeStates: ['To Do', 'In Progress'], terminalStates: ['Done'] };

/** The absolute path of the backlog. Throws `invalid_tracker_config`. */
export function readLocalFolder(options: Pick<TrackerOptions, 'config' | 'secret' | 'env' | 'dir'>): string {
  new ProviderSettings(options, ['path']); // Throws for other keys.
  const { path: written = null } = options.config.provider;
  const home = options.env.HOME || homedir();
  if (written === null) return path.resolve(options.dir, DEFAULT_BACKLOG);
  if (typeof written === 'string' && written.trim() !== '' && !written.includes('\0'))
    return path.resolve(options.dir, withHome(written.trim(), home));
  const message = `tracker.provider.path must be the path of a folder, got ${JSON.stringify(written)}. Write ${DEFAULT_BACKLOG}, or leave it out.`;
  throw new BatonError('invalid_tracker_config', message);
}

function withHome(written: string, home: string): string {
  return written === '~' || written.startsWith('~/') ? path.join(home, written.slice(1)) : written;
}
