import { commandTracker } from './command/tracker.js';
import { githubTracker } from './github/tracker.js';
import { gitlabTracker } from './gitlab/tracker.js';
import { jiraTracker } from './jira/tracker.js';
import { linearTracker } from './linear/tracker.js';
import { localTracker } from './local/tracker.js';
import { redmineTracker } from './redmine/tracker.js';
import type { TrackerEntry } from './registry.js';

/** Every tracker that this build can talk to. An adapter is added by one line here. */
export const ADAPTERS: readonly TrackerEntry[] = [
  localTracker,
  linearTracker,
  githubTracker,
  gitlabTracker,
  jiraTracker,
  redmineTracker,
  commandTracker,
];
