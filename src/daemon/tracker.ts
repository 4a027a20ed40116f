import type { Containment } from '../../runner/contain/process.js';
import type { DaemonOptions } from './daemon.js';
import type { TrackerConfig } from '../domain/config.js';
import type { Tracker } from '../domain/ports.js';
import { resolveSecret } from '../workflow/provider-secrets.js';
import { startTrackerProgram } from './tracker-program.js';

type TrackerSource = Pick<DaemonOptions, 'loaded' | 'trackers' | 'env' | 'redactor'>;

export interface TrackerSurroundings {
  /** Of the settings in force, where these may change. */
  settings?(): TrackerConfig;
  /** How a tracker's program is contained; asked when one is started. */
  containment(): Promise<Containment>;
}

/** Whatever is read as a secret is masked from then on. */
export function openTracker(source: TrackerSource, around: TrackerSurroundings): Tracker {
  const { loaded, trackers, env, redactor } = source;
  const { config, dir, secretNames } = loaded.workflow;
  const secret = (name: string) => {
    const value = resolveSecret(`$${name}`, env);
    if (value !== null) redactor.add(value);
    return value;
  };
  for (const name of secretNames) secret(name);
  for (const literal of loaded.literalSecrets) redactor.add(literal);
  return trackers.entry(config.tracker.kind).create({
    ...{ config: config.tracker, env, dir, secret },
    settings: around.settings ?? (() => config.tracker),
    mask: (text) => redactor.mask(text),
    start: async (program) =>
      startTrackerProgram(program, { workflow: loaded.workflow, env, containment: await around.containment() }),
  });
}
