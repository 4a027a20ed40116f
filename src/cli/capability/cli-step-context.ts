import { randomUUID } from 'node:crypto';
import { lstat, mkdtemp, realpath, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { detectContainment } from '../../../runner/contain/detect-containment.js';
import { runContained } from '../../../runner/contain/run-contained.js';
import { spawnContained } from '../../../runner/contain/spawn-contained.js';
import { environmentFor } from '../../../runner/environment.js';
import type { StepContext } from '../../../runner/executors/executor.js';
import type { Containment } from '../../../runner/contain/process.js';
import { removeFolder } from '../../../runner/run-folder.js';
import { SharedResources } from '../../../runner/steps/run-resources.js';
import { untilGone } from '../../../runner/until-gone.js';
import type { Clock } from '../../domain/clock.js';
import type { Workflow } from '../../domain/config.js';
import { BatonError } from '../../domain/errors.js';
import { fieldsOf } from '../../domain/fields.js';
import { neutralise } from '../../text/neutralise.js';
import { defaultLockDir } from '../../state-dir.js';
import { resolveSecret } from '../../workflow/provider-secrets.js';
import { BARE_ISSUE } from '../check/sample-issue.js';
import { shorter } from '../invocation.js';
import type { Io } from '../io.js';

export interface ContextRequest {
  readonly workflow: Workflow;
  readonly workspace: string;
  readonly io: Io;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** A step that belongs to no run: contained as in one, and gone without a trace when `use` is done. Throws `BatonError`. */
export async function withStepContext<T>(
  request: ContextRequest,
  use: (context: StepContext) => Promise<T>,
): Promise<T> {
  const { workflow, io, clock } = request;
  const workspace = await openWorkspace(request);
  const containment = await containmentFor(workflow, workspace, io, clock);
  const tell = (text: string) => void io.stderr.write(`${neutralise(text)}\n`);
  const resources = new SharedResources(clock, (error) => tell(`baton: ${error.message}`));
  const tmpDir = await realpath(await mkdtemp(join(tmpdir(), 'baton-')));
  try {
    return await use(contextOf(request, { workspace, tmpDir, containment, resources, tell }));
  } finally {
    await resources.release();
    const litter = await removeFolder(tmpDir);
    if (litter) tell(`baton: ${tmpDir} could not be removed: ${litter.message}`);
  }
}

interface Parts {
  readonly workspace: string;
  readonly tmpDir: string;
  readonly containment: Containment;
  readonly resources: SharedResources;
  tell(text: string): void;
}

function contextOf({ workflow, io, clock, signal }: ContextRequest, parts: Parts): StepContext {
  const { workspace, tmpDir, containment, resources, tell } = parts;
  const { config, secretNames } = workflow;
  const runId = `cli-${randomUUID()}`;
  const environment: StepContext['environment'] = (extra) =>
    environmentFor('agent', {
      base: io.env,
      policy: config.runtime.env,
      allow: config.runtime.envAllow,
      hookAllow: [],
      secretNames,
      extra: { TMPDIR: tmpDir, BATON_RUN_ID: runId, BATON_WORKSPACE: workspace, ...extra },
    });
  const onUnkillable = (pids: readonly number[]) => tell(`baton: processes outlive SIGKILL: ${pids.join(', ')}`);
  return {
    ...{ runId, attempt: null, workflow, config, workspace, tmpDir, clock, signal, environment, run: resources },
    issue: { ...BARE_ISSUE, id: 'none', identifier: 'none', title: 'No issue: baton capability run' },
    step: { id: 'cli', index: 0, timeoutMs: null, idempotencyKey: null },
    tools: [],
    emit: () => {},
    audit(kind, data) {
      const { text } = fieldsOf(data);
      if (TOLD.has(kind) && typeof text === 'string') tell(text);
    },
    warn: (message) => tell(`baton: ${message}`),
    async start({ file, args, env, cwd, stdin, channel }) {
      const folder = cwd ?? workspace;
      const command = { marker: runId, file, args, env, stdin, channel, cwd: folder, identity: await lstat(folder) };
      return untilGone(await runContained(command, containment), onUnkillable);
    },
    async launch(script) {
      const { env, unset } = environment({});
      const place = { cwd: workspace, identity: await lstat(workspace) };
      const spec = { marker: runId, script, env, unset, stdin: 'pipe', ...place } as const;
      return untilGone(await spawnContained(spec, containment), onUnkillable);
    },
    secret: (written) => resolveSecret(written, io.env),
    messages: () => [],
    resume: null,
    refreshIssue: async () => null,
    continuationPrompt: () => '',
    promptSent: () => {},
    controls: { attend: () => () => {} },
  };
}

/** What an executor prints, and what it says to people. */
const TOLD = new Set(['capability_output', 'capability_message']);

async function openWorkspace({ workspace, io }: ContextRequest): Promise<string> {
  const wanted = resolve(io.cwd, workspace);
  const path = await realpath(wanted).catch(() => wanted);
  if (await isFolder(path)) return path;
  throw new BatonError('INVALID_REQUEST', `--workspace ${shorter(wanted, io.cwd)} is no folder`);
}

/** Nothing that daemons of this user have stored can be seen, as in a run. */
async function containmentFor(workflow: Workflow, workspace: string, io: Io, clock: Clock): Promise<Containment> {
  const states = dirname(defaultLockDir(io.env, io.homeDir));
  const hide = (await isFolder(states)) ? [await realpath(states)] : [];
  const hidden = hide.find((dir) => `${workspace}/`.startsWith(`${dir}/`));
  if (hidden !== undefined)
    throw new BatonError('INVALID_REQUEST', `--workspace lies in ${hidden}, which no run may see`);
  return detectContainment({ isolation: workflow.config.runtime.isolation, hide, clock });
}

function isFolder(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
}
