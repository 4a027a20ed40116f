import { onTestFinished } from 'vitest';
import type { TrackerConfig } from '../../../src/domain/config.js';
import type { JsonObject } from '../../../src/domain/json.js';
import type { Tracker } from '../../../src/domain/ports.js';
import { createRedactor } from '../../../src/logging/redact.js';
import type { TrackerAdapter } from '../../../src/tracker/registry.js';
import type { FakeServer } from './fake-server.js';

/** An issue of any tracker. Each fake sends it in the shape of its kind. */
export interface FakeIssue {
  readonly id: string;
  readonly identifier: string;
  title: string;
  description: string | null;
  state: string;
  labels: string[];
  author: string;
  /** The association of the author. */
  isMember: boolean;
  assignee: string | null;
  priority: number | null;
  /** Ids of issues on the same board. */
  blockedBy: string[];
  comments: { author: string; isMember: boolean; body: string; createdAt: string }[];
  createdAt: string;
  updatedAt: string;
  /** Sent without its required fields. */
  isMalformed: boolean;
}

/** A server with the API of one kind of tracker, and a board that tests change. */
export interface FakeTracker {
  readonly kind: string;
  readonly entry: TrackerAdapter;
  readonly server: FakeServer;
  /** By id, in the order in which they were made. */
  readonly board: Map<string, FakeIssue>;
  /** `tracker.provider` for this server, without the token. */
  readonly provider: JsonObject;
  /** The variable that holds the token, and the token. */
  readonly variable: string;
  readonly token: string;
  /** The monotonic clock of the adapter; absent: the real one. */
  readonly clock?: () => number;
  /** Adds the next issue. */
  add(fields?: Partial<FakeIssue>): FakeIssue;
}

/** The next issue of a board. `naming` builds the id and identifier of the n-th issue. */
export function addTo(
  board: Map<string, FakeIssue>,
  naming: (n: number) => { readonly id: string; readonly identifier: string },
  state: string,
): (fields?: Partial<FakeIssue>) => FakeIssue {
  return (fields = {}) => {
    const n = board.size + 1;
    const at = new Date(Date.UTC(2026, 0, 1) + n * 60_000).toISOString();
    const issue: FakeIssue = {
      ...naming(n),
      title: `Title ${n}`,
      description: `Description ${n}`,
      state,
      labels: [],
      author: 'ann',
      isMember: true,
      assignee: null,
      priority: null,
      blockedBy: [],
      comments: [],
      createdAt: at,
      updatedAt: at,
      isMalformed: false,
      ...fields,
    };
    board.set(issue.id, issue);
    return issue;
  };
}

export interface OpenOverrides {
  readonly provider?: JsonObject;
  readonly config?: Partial<TrackerConfig>;
  /** Settings that change while the tracker lives. */
  readonly settings?: () => Partial<TrackerConfig>;
  readonly env?: { readonly [name: string]: string };
}

/** The parts of a server that an adapter needs; a real server has them, too. */
type Spoken = Pick<FakeTracker, 'kind' | 'entry' | 'provider' | 'variable' | 'token' | 'clock'>;

/** The real adapter on the fake server. */
export function openFake(fake: Spoken, overrides: OpenOverrides = {}): Tracker {
  const redactor = createRedactor();
  const env: { readonly [name: string]: string | undefined } = { [fake.variable]: fake.token, ...overrides.env };
  const config: TrackerConfig = {
    kind: fake.kind,
    provider: { ...fake.provider, ...overrides.provider },
    ...fake.entry.defaults,
    requiredLabels: [],
    trust: null,
    mentions: false,
    ...overrides.config,
  };
  const tracker = fake.entry.create({
    config,
    settings: () => ({ ...config, ...overrides.settings?.() }),
    env,
    dir: '/nowhere',
    secret: (name) => {
      const value = env[name] ?? '';
      if (value === '') return null;
      redactor.add(value);
      return value;
    },
    mask: (text) => redactor.mask(text),
    nowMs: fake.clock ?? (() => performance.now()),
    start: () => Promise.reject(new Error('this kind of tracker starts nothing')),
  });
  onTestFinished(() => tracker.close());
  return tracker;
}
