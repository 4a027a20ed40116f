import { performance } from 'node:perf_hooks';
import type { TrackerEntry } from '../registry.js';
import { KIND, linearSettings } from './settings.js';
import { DEFAULTS, LinearTracker } from './tracker.js';
import { verifyLinearWebhook } from './webhook.js';

export const linearTracker: TrackerEntry = linearTrackerWith(() => performance.now());

/** `nowMs` is for telling how long ago project and states were asked for. */
export function linearTrackerWith(nowMs: () => number): TrackerEntry {
  return {
    kind: KIND,
    defaults: DEFAULTS,
    verifyWebhook: verifyLinearWebhook,
    create: (options) => new LinearTracker(linearSettings(options), options, nowMs),
  };
}
