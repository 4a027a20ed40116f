import { performance } from 'node:perf_hooks';
import type { TrackerEntry } from '../registry.js';
import { readJiraSettings } from './settings.js';
import { DEFAULTS, JiraTracker, KIND } from './tracker.js';

export const jiraTracker: TrackerEntry = jiraTrackerWith(() => performance.now());

/** `nowMs` is for telling how old is what is known of the project. */
export function jiraTrackerWith(nowMs: () => number): TrackerEntry {
  return {
    kind: KIND,
    defaults: DEFAULTS,
    create: (options) => {
      const { settings, mask } = options;
      return new JiraTracker({ jira: readJiraSettings(options), settings, mask, nowMs });
    },
  };
}
