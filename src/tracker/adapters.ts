import { commandTracker } from './command/tracker.js';
import { githubTracker } from './github/tracker.js';
import { gitlabTracker } from './gitlab/tracker.js';
import { jiraTracker } from './jira/tracker.js';
import { linearTracker } from './linear/tracker.js';
import { localTracker } from './local/tracker.js';
import { redmineTracker } from './redmine/tracker.js';
import type { TrackerEntry } from './registry.js';

/** All trackers of this build. */
export const ADAPTERS: readonly TrackerEntry[] = [
  localTracker,
  linearTracker,
  githubTracker,
  gitlabTracker,
  jiraTracker,
  redmineTracker,
  commandTracker,
];
