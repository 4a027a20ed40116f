import { mkdir } from 'node:fs/promises';
import { constants } from 'node:os';
import { join } from 'node:path';
import type { Clock } from '../../../src/domain/clock.js';
import { BatonError, toBatonError } from '../../../src/domain/errors.js';
import { cancelled, failure, failureOf, type Outcome, success } from '../../../src/domain/outcome.js';
import type { ExecutorDefinition, ExternalAction } from '../../../src/domain/steps/plan.js';
import { type CapturedOutput, captureOutput } from '../../contain/capture-output.js';
import type { ContainedProcess, StopLadder } from '../../contain/process.js';
import type { Executor, Program, StepContext } from '../executor.js';
import { buildEnvelope, EnvelopePipe, jobOf, taskOf } from './envelope.js';
import { readSkills } from './read-skills.js';
import { buildSpawnRequest, findCommand, orbitVariables, type RunFacts, textOf } from './spawn-request.js';

/**
 * Runs `kind: external`: spawn → one JSON object on stdin → exit code. Everything that can be refused is refused before the spawn;
 * afterwards the process tree is gone before `execute` returns. What it prints is kept in the transcript and means nothing.
 */
export function createExternalExecutor(): Executor<ExternalAction> {
  return {
    execute: (action, context) => execute(action, context).catch((error: unknown) => failureOf(toBatonError(error))),
  };
}

async function execute(action: ExternalAction, context: StepContext): Promise<Outcome> {
  const { signal, clock } = context;
  const definition = definitionOf(action, context);
  const { envelope, program } = await prepare(action, definition, context);
  if (signal.aborted) return cancelled(signal.reason);

  const process = await context.start(program).catch((error: unknown) => {
    throw invocationFailure(error, definition);
  });
  const report = await runChild(process, {
    clock,
    signal,
    onActivity: () => context.emit({ type: 'progress', openItems: 0 }),
    deliver: (pipe) => pipe.end(Buffer.from(envelope)),
  });
  tell(report, definition, program, context);
  return childOutcome(report, definition.name, signal);
}

function definitionOf({ executor }: ExternalAction, { workflow }: StepContext): ExecutorDefinition {
  const { executors } = workflow.plan;
  const definition = Object.hasOwn(executors, executor) ? executors[executor] : undefined;
  if (definition !== undefined) return definition;
  const known = Object.keys(executors);
  const there = known.length === 0 ? 'there is none' : `there is ${known.join(', ')}`;
  const message = `there is no executor ${JSON.stringify(executor)} (${there}): define it under \`executors:\` in ${workflow.path}, or in a file of .baton/executors`;
  throw new BatonError('EXECUTOR_NOT_FOUND', message);
}

async function prepare(
  action: ExternalAction,
  definition: ExecutorDefinition,
  context: StepContext,
): Promise<{ readonly envelope: string; readonly program: Program }> {
  const { issue, config, workspace, runId, step, workflow } = context;
  const task = taskOf(action.input, { issue, trackerKind: config.tracker.kind, workspace });
  const skills = await readSkills(action.skills, workflow.dir);
  const model = textOf(action.model);
  const job = jobOf({ runId, stepId: step.id, executor: action.executor, model, timeoutMs: step.timeoutMs });
  const envelope = JSON.stringify(buildEnvelope({ stepId: step.id, action, skills, job, task }));

  const stateDir = await stateFolder(context.tmpDir);
  const root = config.runtime.env === 'allowlist' ? workflow.dir : null;
  const run = { id: runId, stepIndex: step.index, stateDir, root, taskId: task?.id ?? null };
  return { envelope, program: await prepareProgram({ definition, action, stepId: step.id, run }, context) };
}

/** Never the daemon's own: that one is kept from whatever a run starts. */
async function stateFolder(tmpDir: string): Promise<string> {
  const path = join(tmpDir, 'orbit-state');
  await mkdir(path, { recursive: true, mode: 0o700 }).catch((error: NodeJS.ErrnoException) => {
    const message = `the folder ${path} cannot be made (${error.code}): an earlier step of the run may have put something else there`;
    throw new BatonError('AGENT_INVOCATION_FAILED', message, {}, { cause: error });
  });
  return path;
}

/** For whoever wrote the workflow a program that cannot be started is one thing, however the system puts it. */
function invocationFailure(error: unknown, { name, command, file }: ExecutorDefinition): BatonError {
  const known = toBatonError(error);
  if (known.code !== 'spawn_failed') return known;
  const hint = /\b(?:EMFILE|ENFILE|EAGAIN|ENOMEM)\b/.test(known.message)
    ? 'The system gives us no more: let fewer work at a time (max_workers, agent.max_concurrent_agents), or raise the limit (ulimit -n, -u)'
    : `Is the first line of ${command} right, and is it made for this machine? It is defined in ${file}`;
  const message = `the executor ${name} could not be started: ${known.message}. ${hint}`;
  return new BatonError('AGENT_INVOCATION_FAILED', message, known.details, { cause: error });
}

function tell(report: ChildReport, { name }: ExecutorDefinition, { file }: Program, context: StepContext): void {
  const { status, stdout, stderr, truncated, durationMs } = report;
  context.audit('external_output', {
    executor: name,
    command: file,
    exit_code: status.code,
    signal: status.signal,
    duration_ms: durationMs,
    stdout,
    stderr,
    truncated,
  });
}

/** Of each stream; the rest is read and dropped. */
const MAX_OUTPUT_BYTES = 65_536;
const DRAIN_MS = 500;
/** An executor that prints without end is not heard more often than this. */
const ACTIVITY_EVERY_MS = 1_000;

export interface ChildReport extends CapturedOutput {
  /** It was told to end before it did. */
  readonly wasAborted: boolean;
  readonly envelopeWasRead: boolean;
  readonly durationMs: number;
}

interface ChildOptions {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Called at the start and when it prints, not for every piece. */
  onActivity?(): void;
  /** Gives the child its input. */
  deliver(pipe: EnvelopePipe): void;
  readonly stopLadder?: Partial<StopLadder>;
}

/** Gives a child its input and waits for its end, or ends it. Nothing of it is alive afterwards. */
export async function runChild(process: ContainedProcess, options: ChildOptions): Promise<ChildReport> {
  const { clock, signal, deliver, onActivity = () => {} } = options;
  // It has had the end of its stdin already: no reason to wait for what it makes of that.
  const stop = () => process.stop({ eofMs: 0, ...options.stopLadder });
  const startedMs = clock.now().awakeMs;
  let pipe: EnvelopePipe | null = null;
  try {
    if (process.stdin === null) throw new BatonError('internal_error', 'an executor was started without a stdin');
    pipe = new EnvelopePipe(process.stdin);
    hear(process, clock, onActivity);
    deliver(pipe);
    const captured = captureOutput(process, { maxBytes: MAX_OUTPUT_BYTES, clock, drainMs: DRAIN_MS });
    const wasAborted = (await firstEnd(process, signal)) === 'aborted';
    const durationMs = Math.round(clock.now().awakeMs - startedMs);
    if (wasAborted) await stop();
    const output = await captured;
    await stop();
    return { ...output, wasAborted, durationMs, envelopeWasRead: !wasAborted && (await pipe.wasRead(clock)) };
  } finally {
    await stop();
    pipe?.close();
  }
}

function hear({ stdout, stderr }: ContainedProcess, clock: Clock, onActivity: () => void): void {
  let heardMs = clock.now().awakeMs;
  onActivity();
  const tick = () => {
    const nowMs = clock.now().awakeMs;
    if (nowMs - heardMs < ACTIVITY_EVERY_MS) return;
    heardMs = nowMs;
    onActivity();
  };
  stdout.on('data', tick);
  stderr.on('data', tick);
}

/** Who made it to the end in time did so, however long its output takes to drain. */
function firstEnd(process: ContainedProcess, signal: AbortSignal): Promise<'exited' | 'aborted'> {
  return new Promise((resolve) => {
    const onAbort = () => resolve('aborted');
    signal.addEventListener('abort', onAbort, { once: true });
    if (signal.aborted) onAbort(); // while it was being started
    void process.exited.then(() => {
      signal.removeEventListener('abort', onAbort);
      resolve('exited');
    });
  });
}

const MAX_MESSAGE_CHARS = 4_000;

/** Pure. What the end of a child means, by version 1 of the protocol: its exit code, and never what it printed on stdout. */
function childOutcome(report: ChildReport, executor: string, signal: AbortSignal): Outcome {
  const { status, durationMs, envelopeWasRead } = report;
  if (report.wasAborted) return cancelled(signal.reason);
  if (status.code === null) {
    return failure('AGENT_CANCELLED', killed(report, executor), { state: 'cancelled' });
  }
  if (status.code !== 0) return failure('AGENT_INVOCATION_FAILED', complaint(report, executor));
  if (!envelopeWasRead) {
    const message = `the executor ${executor} ended with exit code 0, but did not read all of its input: it must read stdin to the end before it does anything else`;
    return failure('AGENT_INVOCATION_FAILED', message);
  }
  return success({ exit_code: 0, duration_ms: durationMs });
}

/** Shells end with 128 + the signal that killed what they ran, and a namespace does, too: which of the two it was cannot be told. */
function killed({ stderr, status }: ChildReport, executor: string): string {
  const { signal } = status;
  const code = signal === null ? '' : ` (exit code ${128 + constants.signals[signal]})`;
  const text = stderr.trim();
  const message = `the executor ${executor} was killed by ${signal ?? 'a signal'}${code}, which Baton did not send`;
  return text === '' ? message : `${message}: ${cut(text)}`;
}

function complaint({ stderr, status }: ChildReport, executor: string): string {
  const text = stderr.trim();
  return text === ''
    ? `the executor ${executor} printed nothing on stderr and ended with exit code ${status.code}`
    : cut(text);
}

/**
 * Its end is what tells most. It begins with a whole line or at least a whole word, where there is one soon: secrets are masked later, and
 * half of one would not be known for what it is.
 */
function cut(text: string): string {
  if (text.length <= MAX_MESSAGE_CHARS) return text;
  const end = text.slice(-MAX_MESSAGE_CHARS);
  const [partial = ''] = /^[^\n]{0,500}\n|^\S{0,500}\s|^[\udc00-\udfff]/.exec(end) ?? [];
  return `… ${end.slice(partial.length)}`;
}

interface ProgramParts {
  readonly definition: ExecutorDefinition;
  readonly action: Pick<ExternalAction, 'model' | 'tools' | 'allowedPrograms' | 'envSet'>;
  readonly stepId: string;
  readonly run: RunFacts | null;
}

type Host = Pick<StepContext, 'environment' | 'secret' | 'warn'>;

/** What is to be started for a step, down to the file. Throws `AGENT_INVOCATION_FAILED`. */
export async function prepareProgram({ definition, action, stepId, run }: ProgramParts, host: Host): Promise<Program> {
  const injected = orbitVariables({ executor: definition.name, stepId, action, run });
  const { args, env } = buildSpawnRequest({
    definition,
    model: action.model,
    environment: host.environment(injected).env,
    definitionEnv: resolveEnv(definition, host),
    envSet: action.envSet,
  });
  return { file: await findCommand(definition, env), args, env, cwd: null, stdin: 'pipe', channel: false };
}

/** Only of the definition: in `env_set` a reference could come out of an issue, and would hand it any variable of the daemon. */
function resolveEnv({ name: executor, env, file }: ExecutorDefinition, host: Host) {
  const resolve = (name: string, written: string): string => {
    if (!/^\$[A-Za-z_]\w*$/.test(written)) return written;
    const value = host.secret(written);
    if (value === null) {
      const action = `set ${written.slice(1)} where the daemon is started, or correct \`env\` in ${file}`;
      host.warn('a variable that an executor refers to is not set', { executor, name, refersTo: written, action });
    }
    return value ?? '';
  };
  return Object.fromEntries(Object.entries(env).map(([name, written]) => [name, resolve(name, written)]));
}
