import { mkdirSync, mkdtempSync, realpathSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { detectContainment } from '../../runner/contain/detect-containment.js';
import type { ContainedProcess } from '../../runner/contain/process.js';
import { spawnContained } from '../../runner/contain/spawn-contained.js';
import { agentEnvironment } from '../../runner/environment.js';
import type { StepContext } from '../../runner/executors/executor.js';
import type { Clock } from '../../src/domain/clock.js';
import { secretPrints } from '../../src/domain/find-secrets.js';
import type { Issue } from '../../src/domain/issue.js';
import type { Json } from '../../src/domain/json.js';
import type { AbortReason } from '../../src/domain/outcome.js';
import type { RunSignal } from '../../src/domain/run-signal.js';
import type { Workflow } from '../../src/domain/workflow.js';
import { type DeepPartial, issue, workflow } from './builders.js';
import { at } from './fake-clock.js';

/** Real time, for steps whose processes and requests take real time. */
const realClock: Clock = {
  now: () => at(performance.now()),
  after: (ms, callback) => {
    const timer = setTimeout(callback, ms);
    return () => clearTimeout(timer);
  },
};

export interface TestStepOptions {
  readonly workflow?: DeepPartial<Workflow>;
  readonly issue?: Partial<Issue>;
  readonly step?: Partial<StepContext['step']>;
  readonly env?: { readonly [name: string]: string };
  readonly isolation?: 'auto' | 'none';
  readonly clock?: Clock;
  readonly overrides?: Partial<StepContext>;
}

export interface TestStep {
  readonly context: StepContext;
  readonly workspace: string;
  /** The folder of WORKFLOW.md. */
  readonly project: string;
  readonly signals: readonly RunSignal[];
  readonly audits: readonly { readonly kind: string; readonly data: Json }[];
  /** The prompts that an agent received. */
  readonly prompts: readonly string[];
  readonly warnings: readonly { readonly message: string; readonly fields: object }[];
  /** Every process that the step started. */
  readonly processes: readonly ContainedProcess[];
  readonly secretsRead: readonly string[];
  abort(reason: AbortReason): void;
  /** Ends the run: releases its resources, the last one first. */
  endRun(): Promise<void>;
}

/** A step context on real folders, real processes and real time, for tests of one executor. */
export async function testStep(options: TestStepOptions = {}): Promise<TestStep> {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'baton-step-')));
  const [workspace, project, tmp, home] = ['workspace', 'project', 'tmp', 'home'].map((name) => join(root, name)) as [
    string,
    string,
    string,
    string,
  ];
  for (const folder of [workspace, project, tmp, home]) mkdirSync(folder);
  writeFileSync(join(home, '.profile'), '');
  const clock = options.clock ?? realClock;
  const containment = await detectContainment({ isolation: options.isolation ?? 'auto', hide: [], clock: realClock });
  const controller = new AbortController();
  const signals: RunSignal[] = [];
  const audits: { kind: string; data: Json }[] = [];
  const prompts: string[] = [];
  const warnings: { message: string; fields: object }[] = [];
  const processes: ContainedProcess[] = [];
  const secretsRead: string[] = [];
  const resources = new Map<string, unknown>();
  const releases: (() => Promise<void>)[] = [];
  const baseEnv = { PATH: process.env.PATH ?? '/usr/bin:/bin', HOME: home, ...options.env };
  const used = workflow({ path: join(project, 'WORKFLOW.md'), dir: project, ...options.workflow });
  const identityOf = (path: string) => {
    const { dev, ino } = statSync(path);
    return { dev, ino };
  };
  const environment: StepContext['environment'] = (extra) =>
    agentEnvironment(used, baseEnv, { TMPDIR: tmp, BATON_RUN_ID: 'run-1', BATON_WORKSPACE: workspace, ...extra });
  const keep = (process: ContainedProcess) => {
    processes.push(process);
    return process;
  };
  const endRun = async () => {
    for (const release of releases.splice(0).reverse()) await release();
  };
  onTestFinished(async () => {
    controller.abort('shutdown');
    await endRun();
    await Promise.all(processes.map((process) => process.stop({ eofMs: 0, termMs: 0 })));
    rmSync(root, { recursive: true, force: true });
  });

  const context: StepContext = {
    runId: 'run-1',
    attempt: null,
    issue: issue({ id: 'id-1', identifier: 'AB-1', title: 'Make it so', ...options.issue }),
    workflow: used,
    config: used.config,
    step: { id: 'the-step', index: 0, timeoutMs: null, idempotencyKey: null, ...options.step },
    workspace,
    tmpDir: tmp,
    clock,
    tools: [],
    signal: controller.signal,
    emit: (signal) => void signals.push(signal),
    audit: (kind, data) => void audits.push({ kind, data }),
    warn: (message, fields) => void warnings.push({ message, fields }),
    environment,
    async launch(script) {
      const { env, unset } = environment({});
      const spec = { marker: 'run-1', script, cwd: workspace, identity: identityOf(workspace), env, unset } as const;
      return keep(await spawnContained({ ...spec, stdin: 'pipe' }, containment));
    },
    async start({ file, args, env, cwd, stdin, channel }) {
      const folder = cwd ?? workspace;
      const command = { marker: 'run-1', file, args, env, cwd: folder, identity: identityOf(folder), stdin, channel };
      return keep(await spawnContained(command, containment));
    },
    knownSecrets: async () => secretPrints([], ''),
    secret(written) {
      secretsRead.push(written);
      const name = /^\$([A-Za-z_]\w*)$/.exec(written)?.[1];
      const value = name === undefined ? written : options.env?.[name];
      return value === undefined || value.trim() === '' ? null : value;
    },
    resources: {
      get<T>(key: string, make: () => T): T {
        if (!resources.has(key)) resources.set(key, make());
        return resources.get(key) as T;
      },
      atEnd: (release) => void releases.push(release),
    },
    messages: () => [],
    resume: null,
    refreshIssue: async () => null,
    continuationPrompt: () => 'go on',
    promptSent: (text) => void prompts.push(text),
    agentStderr: () => {},
    mailbox: { attend: () => () => {} },
    ...options.overrides,
  };
  return {
    context,
    workspace,
    project,
    signals,
    audits,
    prompts,
    warnings,
    processes,
    secretsRead,
    abort: (reason) => controller.abort(reason),
    endRun,
  };
}
