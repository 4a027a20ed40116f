import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { lstat, mkdtemp, realpath, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { detectContainment } from '../../runner/contain/detect-containment.js';
import type { Containment } from '../../runner/contain/process.js';
import { spawnContained } from '../../runner/contain/spawn-contained.js';
import { agentEnvironment } from '../../runner/environment.js';
import { CapabilityManager } from '../../runner/executors/capability/capability-manager.js';
import { discoverCapabilities } from '../../runner/executors/capability/definitions.js';
import type { StepContext } from '../../runner/executors/executor.js';
import { removeFolder } from '../../runner/run-folder.js';
import { SharedResources } from '../../runner/steps/run-resources.js';
import { createClock } from '../clock.js';
import { type CapabilityInput, findCapability } from '../domain/capabilities.js';
import type { Clock } from '../domain/clock.js';
import { BatonError, type ErrorCode, scopeOf } from '../domain/errors.js';
import { secretPrints } from '../domain/find-secrets.js';
import { type Fields, fieldsOf, type Json, type JsonObject, textOf } from '../domain/json.js';
import type { Workflow } from '../domain/workflow.js';
import { defaultLockDir } from '../state-dir.js';
import { neutralise } from '../text/neutralise.js';
import { ADAPTERS } from '../tracker/adapters.js';
import { createTrackerRegistry } from '../tracker/registry.js';
import { loadWorkflow, parseWorkflow } from '../workflow/load-workflow.js';
import { resolveSecret } from '../workflow/secrets.js';
import { BARE_ISSUE } from './check/finding.js';
import { type Io, printError, printJson, shorter } from './io.js';

export interface RunCapabilityOptions {
  readonly type: string;
  readonly name: string;
  /** JSON. */
  readonly params?: string | undefined;
  /** Each `key=value`. */
  readonly param: readonly string[];
  readonly workspace?: string | undefined;
  readonly timeoutMs: number | null;
  readonly workflow?: string | undefined;
}

/** Runs one capability. Exit code 0: it has a result, 1: it failed, 2: usage. */
export async function runCapability(options: RunCapabilityOptions, io: Io): Promise<number> {
  const interrupted = new AbortController();
  const interrupt = () => interrupted.abort('operator');
  for (const signal of SIGNALS) process.once(signal, interrupt);
  const clock = createClock();
  const manager = new CapabilityManager({
    discover: (projectDir) => discoverCapabilities({ projectDir, homeDir: io.homeDir }),
  });
  try {
    const workflow = await openSettings(options.workflow, io);
    const { type, name, timeoutMs } = options;
    const inputs = findCapability(await manager.index(workflow.dir), type, name)?.inputs ?? [];
    const params = readParams(options.params, options.param, inputs);
    const request = { workflow, workspace: options.workspace ?? '.', io, clock, signal: interrupted.signal };
    const end = await withStepContext(request, (context) =>
      manager.startCapability({ type, name, params, timeoutMs }, context),
    );
    if (end.state !== 'completed')
      return printError(new BatonError(end.code, end.message), isWrongCall(end.code) ? 2 : 1, io);
    if (end.additionalContext !== undefined)
      io.stderr.write(`additionalContext: ${neutralise(JSON.stringify(end.additionalContext))}\n`);
    printJson(end.result, io);
    return 0;
  } catch (error) {
    return printError(error, 2, io);
  } finally {
    await manager.close();
    clock.close();
    for (const signal of SIGNALS) process.off(signal, interrupt);
  }
}

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** Nothing was started, because of the arguments or the installation. */
function isWrongCall(code: ErrorCode): boolean {
  return code === 'INVALID_REQUEST' || scopeOf(code) === 'daemon';
}

export interface ContextRequest {
  readonly workflow: Workflow;
  readonly workspace: string;
  readonly io: Io;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** Runs `use` with the context of a step outside of a run: contained like a run, and removed afterwards. Throws `BatonError`. */
export async function withStepContext<T>(
  request: ContextRequest,
  use: (context: StepContext) => Promise<T>,
): Promise<T> {
  const { workflow, io, clock } = request;
  const workspace = await openWorkspace(request);
  const containment = await containmentFor(workflow, workspace, io, clock);
  const print = (text: string) => void io.stderr.write(`${neutralise(text)}\n`);
  const resources = new SharedResources(clock, (error) => print(`baton: ${error.message}`));
  const tmpDir = await realpath(await mkdtemp(join(tmpdir(), 'baton-')));
  try {
    return await use(contextOf(request, { workspace, tmpDir, containment, resources, print }));
  } finally {
    await resources.release();
    const litter = await removeFolder(tmpDir);
    if (litter) print(`baton: ${tmpDir} could not be removed: ${litter.message}`);
  }
}

interface StepEnvironment {
  readonly workspace: string;
  readonly tmpDir: string;
  readonly containment: Containment;
  readonly resources: SharedResources;
  print(text: string): void;
}

function contextOf({ workflow, io, clock, signal }: ContextRequest, stepEnvironment: StepEnvironment): StepContext {
  const { workspace, tmpDir, containment, resources, print } = stepEnvironment;
  const { config } = workflow;
  const runId = `cli-${randomUUID()}`;
  const environment: StepContext['environment'] = (extra) =>
    agentEnvironment(workflow, io.env, { TMPDIR: tmpDir, BATON_RUN_ID: runId, BATON_WORKSPACE: workspace, ...extra });
  const onUnkillable = (pids: readonly number[]) => print(`baton: processes outlive SIGKILL: ${pids.join(', ')}`);
  return {
    ...{ runId, attempt: null, workflow, config, workspace, tmpDir, clock, signal, environment, resources },
    issue: { ...BARE_ISSUE, id: 'none', identifier: 'none', title: 'No issue: baton capability run' },
    step: { id: 'cli', index: 0, timeoutMs: null, idempotencyKey: null },
    tools: [],
    emit: () => {},
    audit(kind, data) {
      const { text } = fieldsOf(data);
      if (PRINTED_EVENTS.has(kind) && typeof text === 'string') print(text);
    },
    warn: (message, facts) => print(warningText(message, facts)),
    async start({ file, args, env, cwd, stdin, channel }) {
      const folder = cwd ?? workspace;
      const program = { marker: runId, file, args, env, stdin, channel, onUnkillable };
      return spawnContained({ ...program, cwd: folder, identity: await lstat(folder) }, containment);
    },
    async launch(script) {
      const { env, unset } = environment({});
      const shell = { marker: runId, script, env, unset, stdin: 'pipe', onUnkillable } as const;
      return spawnContained({ ...shell, cwd: workspace, identity: await lstat(workspace) }, containment);
    },
    secret: (written) => resolveSecret(written, io.env),
    // Nothing leaves this machine: there is no tracker.
    knownSecrets: async () => secretPrints([], ''),
    messages: () => [],
    resume: null,
    refreshIssue: async () => null,
    continuationPrompt: () => '',
    promptSent: () => {},
    agentStderr: () => {},
    mailbox: { attend: () => () => {} },
  };
}

/** Without the ids, which only programs need. */
function warningText(message: string, { execution_id: _, side_execution_id: __, ...facts }: Fields): string {
  const shown = Object.entries(facts).map(([name, value]) => `${name}: ${textOf(value) ?? JSON.stringify(value)}`);
  return [`baton: ${message}`, ...shown].join(', ');
}

/** The output of an executor, and its messages. */
const PRINTED_EVENTS = new Set(['capability_output', 'capability_message']);

async function openWorkspace({ workspace, io }: ContextRequest): Promise<string> {
  const wanted = resolve(io.cwd, workspace);
  const path = await realpath(wanted).catch(() => wanted);
  if (await isFolder(path)) return path;
  throw new BatonError('INVALID_REQUEST', `--workspace ${shorter(wanted, io.cwd)} is no folder`);
}

/** Hides the state of all daemons of this user, as in a run. */
async function containmentFor(workflow: Workflow, workspace: string, io: Io, clock: Clock): Promise<Containment> {
  const states = dirname(defaultLockDir(io.env, io.homeDir));
  const hide = (await isFolder(states)) ? [await realpath(states)] : [];
  const hidden = hide.find((dir) => `${workspace}/`.startsWith(`${dir}/`));
  if (hidden !== undefined)
    throw new BatonError('INVALID_REQUEST', `--workspace lies in ${hidden}, which is hidden from runs`);
  return detectContainment({ isolation: workflow.config.runtime.isolation, hide, clock });
}

function isFolder(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
}

/**
 * The parameters of a capability: `--params`, then each `--param key=value`. A value is text unless capability.yaml declares another type.
 * Throws `INVALID_REQUEST`. Pure.
 */
export function readParams(
  json: string | undefined,
  pairs: readonly string[],
  inputs: readonly CapabilityInput[],
): JsonObject {
  const single = pairs.map((pair) => readPair(pair, inputs));
  // Not by assignment, so that a parameter may be named __proto__.
  return Object.fromEntries([...Object.entries(json === undefined ? {} : readObject(json)), ...single]);
}

function readObject(json: string): JsonObject {
  const value = parsed(json);
  if (value === undefined || fieldsOf(value) !== value) {
    throw invalid(`--params must be a JSON object, such as '{"name": "value"}'`);
  }
  return value as JsonObject;
}

function readPair(pair: string, inputs: readonly CapabilityInput[]): [string, Json] {
  const at = pair.indexOf('=');
  if (at < 1) throw invalid(`--param must be key=value, not ${JSON.stringify(pair)}`);
  const [key, text] = [pair.slice(0, at), pair.slice(at + 1)];
  const { type = 'string' } = inputs.find(({ name }) => name === key) ?? {};
  if (!JSON_TYPES.has(type)) return [key, text];
  const value = parsed(text);
  if (value === undefined) throw invalid(`--param ${key} must be ${type}, as JSON, not ${JSON.stringify(text)}`);
  return [key, value];
}

const JSON_TYPES = new Set(['number', 'integer', 'boolean', 'array', 'object']);

function parsed(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
}

function invalid(message: string): BatonError {
  return new BatonError('INVALID_REQUEST', message);
}

/** The settings of the workflow, or the defaults without one. Throws `BatonError`. */
export async function openSettings(workflow: string | undefined, io: Io): Promise<Workflow> {
  const trackers = createTrackerRegistry(ADAPTERS);
  const trackerKinds = new Map(trackers.kinds.map((kind) => [kind, trackers.entry(kind).defaults]));
  // Does not check the capabilities of its steps: the user may be testing one of them.
  const options = { env: io.env, homeDir: io.homeDir, trackerKinds };
  const path = resolve(io.cwd, workflow ?? 'WORKFLOW.md');
  if (workflow !== undefined || existsSync(path)) return (await loadWorkflow(path, options)).workflow;
  const file = { path: join(io.cwd, 'WORKFLOW.md'), bytes: Buffer.from(NO_SETTINGS), hash: '' };
  return (await parseWorkflow(file, options)).workflow;
}

const NO_SETTINGS = '---\ntracker: { kind: local }\n---\n';
