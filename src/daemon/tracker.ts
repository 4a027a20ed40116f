import type { DaemonOptions } from '../daemon.js';
import type { TrackerConfig } from '../domain/config.js';
import type { Tracker } from '../domain/ports.js';
import { resolveSecret } from '../workflow/provider-secrets.js';

type TrackerSource = Pick<DaemonOptions, 'loaded' | 'trackers' | 'env' | 'redactor'>;

/** Whatever is read as a secret is masked from then on. `states`: of the settings in force, where these may change. */
export function openTracker(
  { loaded, trackers, env, redactor }: TrackerSource,
  states = (): TrackerConfig => loaded.workflow.config.tracker,
): Tracker {
  const { config, dir, secretNames } = loaded.workflow;
  const secret = (name: string) => {
    const value = resolveSecret(`$${name}`, env);
    if (value !== null) redactor.add(value);
    return value;
  };
  for (const name of secretNames) secret(name);
  for (const literal of loaded.literalSecrets) redactor.add(literal);
  return trackers.entry(config.tracker.kind).create({ config: config.tracker, states, env, dir, secret });
}
