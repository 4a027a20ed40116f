import { startFakeGithub } from './fake-github.js';
import { startFakeGitlab } from './fake-gitlab.js';
import { startFakeJira } from './fake-jira.js';
import { startFakeLinear } from './fake-linear.js';
import { startFakeRedmine } from './fake-redmine.js';
import type { FakeTracker } from './fake-tracker.js';

export interface FakeKind {
  start(): Promise<FakeTracker>;
  /** An active state and a terminal state. */
  readonly active: string;
  readonly terminal: string;
}

/** Every tracker with an HTTP API. */
export const FAKE_KINDS = {
  linear: { start: startFakeLinear, active: 'Todo', terminal: 'Done' },
  github: { start: startFakeGithub, active: 'open', terminal: 'closed' },
  gitlab: { start: startFakeGitlab, active: 'opened', terminal: 'closed' },
  jira: { start: startFakeJira, active: 'To Do', terminal: 'Done' },
  redmine: { start: startFakeRedmine, active: 'New', terminal: 'Closed' },
} as const satisfies { readonly [kind: string]: FakeKind };
