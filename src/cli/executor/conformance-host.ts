import { randomUUID } from 'node:crypto';
import { lstat, mkdir, mkdtemp, realpath, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { detectContainment } from '../../../runner/contain/detect-containment.js';
import { findMarked } from '../../../runner/contain/find-marked.js';
import { runContained } from '../../../runner/contain/run-contained.js';
import { environmentFor } from '../../../runner/environment.js';
import type { ConformanceHost } from '../../../runner/executors/external/conformance.js';
import type { Clock } from '../../domain/clock.js';
import type { Redactor } from '../../logging/redact.js';
import type { Io } from '../io.js';
import type { OpenedWorkflow } from '../open-workflow.js';

export interface HostRequest {
  readonly opened: OpenedWorkflow;
  readonly io: Io;
  readonly clock: Clock;
  readonly redactor: Redactor;
  readonly signal: AbortSignal;
  warn(message: string): void;
}

/** The world of an executor as a run would give it, in folders that `use` may do with as it likes. They are gone afterwards. */
export async function withConformanceHost<T>(
  request: HostRequest,
  use: (host: ConformanceHost) => Promise<T>,
): Promise<T> {
  const base = await realpath(await mkdtemp(join(tmpdir(), 'baton-executor-')));
  try {
    return await use(await hostIn(base, request));
  } finally {
    await rm(base, { recursive: true, force: true });
  }
}

async function hostIn(
  base: string,
  { opened, io, clock, redactor, signal, warn }: HostRequest,
): Promise<ConformanceHost> {
  const { workflow } = opened.loaded;
  const { runtime } = workflow.config;
  const [workspace, tmp] = [join(base, 'workspace'), join(base, 'tmp')];
  const stateDir = join(tmp, 'orbit-state');
  for (const folder of [workspace, tmp, stateDir]) await mkdir(folder, { mode: 0o700 });
  const hide = (await isFolder(opened.stateDir)) ? [opened.stateDir] : [];
  const forms = {
    usual: await detectContainment({ isolation: runtime.isolation, hide, clock }),
    // In a namespace of its own nobody could see what is left: the kernel ends it first.
    countable: await detectContainment({ isolation: 'none', hide: [], clock }),
  };
  // Each check prepares the program anew, and finds the same.
  const warned = new Set<string>();
  return {
    clock,
    signal,
    workspace,
    run: {
      id: 'conformance',
      stepIndex: 0,
      stateDir,
      root: runtime.env === 'allowlist' ? workflow.dir : null,
      taskId: 'conformance',
    },
    environment: (extra) =>
      environmentFor('agent', {
        base: io.env,
        policy: runtime.env,
        allow: runtime.envAllow,
        hookAllow: [],
        secretNames: workflow.secretNames,
        extra: { TMPDIR: tmp, BATON_RUN_ID: 'conformance', BATON_WORKSPACE: workspace, ...extra },
      }),
    secret(written) {
      const value = written.startsWith('$') ? io.env[written.slice(1)] : written;
      if (value === undefined || value.trim() === '') return null;
      redactor.add(value);
      return value;
    },
    warn(message, fields) {
      const text = `${message}: ${Object.values(fields).join(', ')}`;
      if (!warned.has(text)) warn(text);
      warned.add(text);
    },
    async start(program, form) {
      const marker = `cli-${randomUUID()}`;
      const cwd = program.cwd ?? workspace;
      const { dev, ino } = await lstat(cwd);
      const process = await runContained({ ...program, marker, cwd, identity: { dev, ino } }, forms[form]);
      return { process, living: async () => (await findMarked(marker)).length };
    },
  };
}

function isFolder(path: string): Promise<boolean> {
  return stat(path).then(
    (stats) => stats.isDirectory(),
    () => false,
  );
}
