import { homedir } from 'node:os';
import path from 'node:path';
import { performance } from 'node:perf_hooks';
import { BatonError } from '../../domain/errors.js';
import type { JsonObject } from '../../domain/json.js';
import { nearestWord } from '../../text/nearest-word.js';
import type { TrackerEntry } from '../registry.js';
import { DEFAULTS, KIND, LocalTracker } from './tracker.js';
import { realOrSame } from './real-path.js';

const DEFAULT_PATH = './backlog';
const KEYS = ['path'];

export const localTracker: TrackerEntry = localTrackerWith(() => performance.now());

/** `nowMs` is for telling how long a file has been missing. */
export function localTrackerWith(nowMs: () => number): TrackerEntry {
  return {
    kind: KIND,
    defaults: DEFAULTS,
    create({ config, settings, env, dir }) {
      const folder = path.resolve(dir, withHome(pathOf(config.provider), env.HOME || homedir()));
      return new LocalTracker({ folder, scope: `${KIND}:${realOrSame(folder)}`, settings, nowMs });
    },
  };
}

function pathOf(provider: JsonObject): string {
  const stranger = Object.keys(provider).find((key) => !KEYS.includes(key));
  if (stranger !== undefined) {
    const near = nearestWord(stranger, KEYS);
    const hint = near === null ? `It takes: ${KEYS.join(', ')}.` : `Did you mean tracker.provider.${near}?`;
    const message = `tracker.provider.${stranger} is no setting of the local tracker. ${hint}`;
    throw new BatonError('invalid_tracker_config', message);
  }
  const { path: written = null } = provider;
  if (written === null) return DEFAULT_PATH;
  if (typeof written === 'string' && written.trim() !== '' && !written.includes('\0')) return written.trim();
  const message = `tracker.provider.path must be the path of a folder, got ${JSON.stringify(written)}. Write ${DEFAULT_PATH}, or leave it out.`;
  throw new BatonError('invalid_tracker_config', message);
}

function withHome(written: string, home: string): string {
  return written === '~' || written.startsWith('~/') ? path.join(home, written.slice(1)) : written;
}
