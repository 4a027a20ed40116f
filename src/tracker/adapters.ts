import * as command from './command/settings.js';
import * as github from './github/settings.js';
import { verifyGithubWebhook } from './github/webhook.js';
import * as gitlab from './gitlab/settings.js';
import * as jira from './jira/settings.js';
import * as linear from './linear/settings.js';
import { verifyLinearWebhook } from './linear/webhook.js';
import * as local from './local/settings.js';
import * as redmine from './redmine/settings.js';
import type { TrackerEntry } from './registry.js';

/** All trackers of this build. A daemon has one of them, so each is loaded when it is created. */
export const ADAPTERS: readonly TrackerEntry[] = [
  {
    kind: local.KIND,
    defaults: local.DEFAULTS,
    create: async (options) => (await import('./local/tracker.js')).localTracker.create(options),
  },
  {
    kind: linear.KIND,
    defaults: linear.DEFAULTS,
    verifyWebhook: verifyLinearWebhook,
    create: async (options) => (await import('./linear/tracker.js')).linearTracker.create(options),
  },
  {
    kind: github.KIND,
    defaults: github.DEFAULTS,
    verifyWebhook: verifyGithubWebhook,
    create: async (options) => (await import('./github/tracker.js')).githubTracker.create(options),
  },
  {
    kind: gitlab.KIND,
    defaults: gitlab.DEFAULTS,
    create: async (options) => (await import('./gitlab/tracker.js')).gitlabTracker.create(options),
  },
  {
    kind: jira.KIND,
    defaults: jira.DEFAULTS,
    create: async (options) => (await import('./jira/tracker.js')).jiraTracker.create(options),
  },
  {
    kind: redmine.KIND,
    defaults: redmine.DEFAULTS,
    create: async (options) => (await import('./redmine/tracker.js')).redmineTracker.create(options),
  },
  {
    kind: command.KIND,
    defaults: command.DEFAULTS,
    create: async (options) => (await import('./command/tracker.js')).commandTracker.create(options),
  },
];
