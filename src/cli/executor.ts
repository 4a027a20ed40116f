import { randomUUID } from 'node:crypto';
import { lstat, mkdir, mkdtemp, readFile, realpath, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { detectContainment } from '../../runner/contain/detect-containment.js';
import { findMarked } from '../../runner/contain/marker-sweep.js';
import { spawnContained } from '../../runner/contain/spawn-contained.js';
import { agentEnvironment } from '../../runner/environment.js';
import type { Clock } from '../domain/clock.js';
import { BatonError } from '../domain/errors.js';
import type { JsonObject } from '../domain/json.js';
import { nearestWord } from '../domain/nearest-word.js';
import { shellWord } from '../domain/shell-word.js';
import type { ExecutorDefinition } from '../domain/steps/plan.js';
import { createRedactor, type Redactor } from '../logging/redact.js';
import { neutralise } from '../text/neutralise.js';
import { painter } from './check/finding.js';
import { report, testCommand } from './conformance/checks.js';
import { checkExecutor, type ExecutorHost } from './conformance/executor-checks.js';
import { type Io, printError, shorter } from './io.js';
import { type OpenedWorkflow, openWorkflow } from './open-workflow.js';

/** Prints the executors of a workflow, one line each. */
export async function listExecutors({ workflowPath }: { readonly workflowPath: string }, io: Io): Promise<number> {
  try {
    const { loaded } = await openWorkflow(workflowPath, undefined, io);
    const definitions = Object.values(loaded.workflow.plan.executors);
    io.stdout.write(definitions.length === 0 ? none(workflowPath) : `${linesOf(definitions, io).join('\n')}\n`);
    return 0;
  } catch (error) {
    return printError(error, 2, io);
  }
}

function linesOf(definitions: readonly ExecutorDefinition[], io: Io): string[] {
  const width = Math.max(...definitions.map(({ name }) => name.length));
  return definitions
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
    .map((one) => neutralise(`${one.name.padEnd(width)}  ${commandLine(one)}  (${shorter(one.file, io.cwd)})`));
}

export function commandLine({ command, args }: Pick<ExecutorDefinition, 'command' | 'args'>): string {
  return [command, ...args].map(shellWord).join(' ');
}

function none(workflowPath: string): string {
  return `${neutralise(workflowPath)} can use no external executor. Define one under \`executors:\` there, or in .baton/executors/<name>.yaml.\n`;
}

export interface TestExecutorOptions {
  readonly name: string;
  readonly workflowPath: string;
  readonly inputPath?: string | undefined;
  readonly limitMs: number;
}

/** As in a run. */
const TERM_MS = 3_000;
const SETTLE_MS = 500;

/** Checks an executor against the protocol, one line per check. */
export function testExecutor(options: TestExecutorOptions, io: Io): Promise<number> {
  return testCommand(io, async ({ clock, signal }) => {
    const opened = await openWorkflow(options.workflowPath, undefined, io);
    const { limitMs } = options;
    const definition = definitionOf(options, opened);
    const input = await readInput(options.inputPath, io);
    const redactor = createRedactor(opened.loaded.literalSecrets);
    const mask = (text: string) => neutralise(redactor.mask(text));
    const print = (text: string) => void io.stdout.write(`${text}\n`);
    print(mask(`${definition.name}: ${commandLine(definition)}  (${shorter(definition.file, io.cwd)})`));
    const paint = painter(io.isTTY && !io.env.NO_COLOR);
    const warn = (message: string) => print(`  ${paint('yellow', '!')} ${mask(message)}`);
    return withExecutorHost({ opened, io, clock, redactor, signal, warn }, (host) => {
      const limits = { limitMs, termMs: TERM_MS, settleMs: SETTLE_MS };
      return report(checkExecutor(definition, host, { input, ...limits }), { io, signal, mask });
    });
  });
}

function definitionOf({ name }: TestExecutorOptions, { loaded }: OpenedWorkflow): ExecutorDefinition {
  const { executors } = loaded.workflow.plan;
  const definition = Object.hasOwn(executors, name) ? executors[name] : undefined;
  if (definition !== undefined) return definition;
  const names = Object.keys(executors);
  const near = nearestWord(name, names);
  const there = names.length === 0 ? 'the workflow can use none' : `there is ${names.join(', ')}`;
  const hint = near === null ? there : `did you mean ${near}?`;
  const message = `there is no executor ${JSON.stringify(name)}; ${hint}; \`baton executor list\` shows what there is`;
  throw new BatonError('EXECUTOR_NOT_FOUND', message);
}

async function readInput(path: string | undefined, io: Io): Promise<JsonObject> {
  if (path === undefined) return {};
  const file = resolve(io.cwd, path);
  try {
    const input: unknown = JSON.parse(await readFile(file, 'utf8'));
    if (typeof input === 'object' && input !== null && !Array.isArray(input)) return input as JsonObject;
  } catch (error) {
    const why = (error as Error).message;
    throw new BatonError('INVALID_REQUEST', `--input ${file} cannot be used: ${why}`, {}, { cause: error });
  }
  throw new BatonError('INVALID_REQUEST', `--input ${file} must be a JSON object, such as {"summary": "…"}`);
}

interface HostOptions {
  readonly opened: OpenedWorkflow;
  readonly io: Io;
  readonly clock: Clock;
  readonly redactor: Redactor;
  readonly signal: AbortSignal;
  warn(message: string): void;
}

/** Gives `use` the environment of a run, in temporary folders that are removed afterwards. */
async function withExecutorHost<T>(options: HostOptions, use: (host: ExecutorHost) => Promise<T>): Promise<T> {
  const base = await realpath(await mkdtemp(join(tmpdir(), 'baton-executor-')));
  try {
    return await use(await hostIn(base, options));
  } finally {
    await rm(base, { recursive: true, force: true });
  }
}

async function hostIn(base: string, { opened, io, clock, redactor, signal, warn }: HostOptions): Promise<ExecutorHost> {
  const { workflow } = opened.loaded;
  const { runtime } = workflow.config;
  const [workspace, tmp] = [join(base, 'workspace'), join(base, 'tmp')];
  const stateDir = join(tmp, 'orbit-state');
  for (const folder of [workspace, tmp, stateDir]) await mkdir(folder, { mode: 0o700 });
  const hide = (await isFolder(opened.stateDir)) ? [opened.stateDir] : [];
  const forms = {
    usual: await detectContainment({ isolation: runtime.isolation, hide, clock }),
    // Without a PID namespace, where the kernel would end all leftovers before they can be counted.
    countable: await detectContainment({ isolation: 'none', hide: [], clock }),
  };
  // Each check prepares the program again and would repeat its warnings.
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
      agentEnvironment(workflow, io.env, {
        TMPDIR: tmp,
        BATON_RUN_ID: 'conformance',
        BATON_WORKSPACE: workspace,
        ...extra,
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
      const process = await spawnContained({ ...program, marker, cwd, identity: { dev, ino } }, forms[form]);
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
