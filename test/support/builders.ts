import { CAPABILITY_MODULES, type Config } from '../../src/domain/config.js';
import type { Issue } from '../../src/domain/issue.js';
import type { Plan } from '../../src/domain/steps/plan.js';
import type { Workflow } from '../../src/domain/workflow.js';

/** Complete, valid values with the documented defaults. A test sets only the fields it is about. */
export type DeepPartial<T> = T extends readonly unknown[] | null
  ? T
  : T extends object
    ? { readonly [K in keyof T]?: DeepPartial<T[K]> }
    : T;

/** An issue that is ready to start; its identifier is its id. A bare string sets id and identifier: `issue('A-1')`. */
export function issue(overrides: string | Partial<Issue> = {}): Issue {
  const given = typeof overrides === 'string' ? { id: overrides, identifier: overrides } : overrides;
  const id = given.id ?? 'AB-1';
  return {
    id,
    identifier: id,
    title: `Title of ${id}`,
    description: null,
    priority: null,
    state: 'Todo',
    branch_name: null,
    url: null,
    assignee_id: null,
    author: null,
    labels: [],
    blocked_by: [],
    comments: [],
    dispatchable: true,
    held_back: null,
    native_ref: null,
    created_at: '2026-01-01T00:00:00.000Z',
    updated_at: '2026-01-01T00:00:00.000Z',
    ...given,
  };
}

/** The defaults of DESIGN.md section 3, on the in-memory tracker. Maps are merged, lists and scalars replaced. */
export function config(overrides: DeepPartial<Config> = {}): Config {
  return merge(DEFAULT_CONFIG, overrides) as Config;
}

export function workflow(overrides: DeepPartial<Workflow> = {}): Workflow {
  return merge(
    {
      path: '/project/WORKFLOW.md',
      dir: '/project',
      homeDir: '/home/user',
      hash: '0'.repeat(64),
      config: DEFAULT_CONFIG,
      prompt: { text: 'Work on {{ issue.identifier }}: {{ issue.title }}', startLine: 1, file: '/project/WORKFLOW.md' },
      plan: IMPLIED_PLAN,
      secretNames: [],
      warnings: [],
    },
    overrides,
  ) as Workflow;
}

/** The plan of a workflow without `steps:`. */
export const IMPLIED_PLAN: Plan = {
  isImplied: true,
  steps: [
    {
      shape: 'action',
      id: 'agent',
      place: 'WORKFLOW.md:1:1',
      when: null,
      outputTo: null,
      retry: null,
      timeoutMs: null,
      idempotencyKey: null,
      action: {
        kind: 'agent',
        backend: 'cli',
        prompt: {
          text: 'Work on {{ issue.identifier }}: {{ issue.title }}',
          startLine: 1,
          file: '/project/WORKFLOW.md',
        },
        maxTurns: 20,
        session: null,
      },
    },
  ],
  inputs: {},
  backend: { value: 'http', source: 'built-in', saidAuto: false },
  executors: {},
  services: { gateway: null, sandbox: null, tools: null, agents: null },
};

const DEFAULT_CONFIG: Config = {
  tracker: {
    kind: 'memory',
    provider: {},
    activeStates: ['Todo', 'In Progress'],
    terminalStates: ['Done', 'Cancelled'],
    requiredLabels: [],
    trust: null,
    mentions: false,
  },
  delivery: { branch: null, protectedPaths: {} },
  polling: { intervalMs: 30_000 },
  workspace: { root: '/project/workspaces', minFreeMb: 2048, maxMb: 20_480, keepDays: 14 },
  hooks: {
    scripts: { after_create: null, before_run: null, after_run: null, before_remove: null },
    timeoutMs: 60_000,
    envAllow: [],
  },
  agent: {
    maxConcurrentAgents: 10,
    maxConcurrentAgentsByState: {},
    maxTurns: 20,
    maxRetryBackoffMs: 300_000,
    maxAttempts: 8,
    maxRunsWithoutProgress: 3,
    maxTokensPerIssue: 10_000_000,
    maxTokensPerDay: null,
    finishGraceMs: 120_000,
    inputTimeoutMs: 600_000,
    onInputTimeout: 'park',
  },
  codex: {
    command: 'codex app-server',
    approvalPolicy: 'never',
    threadSandbox: null,
    turnSandboxPolicy: null,
    readable: [],
    mcpServers: [],
    webSearch: false,
    onApprovalRequest: 'decline',
    turnTimeoutMs: 3_600_000,
    maxTurnMs: 21_600_000,
    readTimeoutMs: 5_000,
    stallTimeoutMs: 300_000,
  },
  server: { port: null, host: '127.0.0.1', allowedHosts: [], token: null },
  webhooks: { port: null, host: '127.0.0.1', secret: null },
  runtime: {
    env: 'allowlist',
    envAllow: [],
    isolation: 'auto',
    maxProcesses: 4096,
    maxMemoryMb: null,
    cpuWeight: 50,
    shutdownTimeoutMs: 30_000,
    backend: null,
    maxInlineOutputBytes: 65_536,
  },
  store: { keepDays: 400 },
  capabilities: { connectTimeoutMs: 30_000, modules: CAPABILITY_MODULES },
  notify: { url: null, command: null, on: ['asking', 'parked', 'hold', 'done'], reportAt: '09:00' },
  pricing: { currency: 'USD', models: {} },
};

function merge(base: unknown, overrides: unknown): unknown {
  if (overrides === undefined) return base;
  if (!isMap(base) || !isMap(overrides)) return overrides;
  const merged: { [key: string]: unknown } = { ...base };
  for (const [key, value] of Object.entries(overrides)) merged[key] = merge(base[key], value);
  return merged;
}

function isMap(value: unknown): value is { readonly [key: string]: unknown } {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
