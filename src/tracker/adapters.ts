import { commandTracker } from './command/entry.js';
import { githubTracker } from './github/entry.js';
import { gitlabTracker } from './gitlab/entry.js';
import { jiraTracker } from './jira/entry.js';
import { linearTracker } from './linear/entry.js';
import { localTracker } from './local/entry.js';
import { redmineTracker } from './redmine/entry.js';
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
