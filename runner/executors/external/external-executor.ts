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
import { prepareProgram } from './spawn-request.js';

/**
 * Runs steps of `kind: external`: spawn → one JSON object on stdin → exit code. All checks happen before the spawn, and the process tree
 * is gone before `execute` returns. Output goes to the transcript and has no other meaning.
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
  audit(report, definition, program, context);
  return childOutcome(report, definition.name, signal);
}

function definitionOf({ executor }: ExternalAction, { workflow }: StepContext): ExecutorDefinition {
  const { executors } = workflow.plan;
  const definition = Object.hasOwn(executors, executor) ? executors[executor] : undefined;
  if (definition !== undefined) return definition;
  const known = Object.keys(executors);
  const defined = known.length === 0 ? 'none is defined' : `defined: ${known.join(', ')}`;
  const message = `there is no executor ${JSON.stringify(executor)} (${defined}): define it under \`executors:\` in ${workflow.path}, or in a file of .baton/executors; \`baton executor list\` shows all`;
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
  const job = jobOf(runId, workflow.plan.steps);
  const envelope = JSON.stringify(buildEnvelope({ step, action, skills, job, task }));

  const stateDir = await stateFolder(context.tmpDir);
  const root = config.runtime.env === 'allowlist' ? workflow.dir : null;
  const run = { id: runId, stepIndex: step.index, stateDir, root, taskId: task?.id ?? null };
  return { envelope, program: await prepareProgram({ definition, action, stepId: step.id, run }, context) };
}

/** A folder of the run. The state directory of the daemon is hidden from its processes. */
async function stateFolder(tmpDir: string): Promise<string> {
  const path = join(tmpDir, 'orbit-state');
  await mkdir(path, { recursive: true, mode: 0o700 }).catch((error: NodeJS.ErrnoException) => {
    const message = `the folder ${path} cannot be created (${error.code}): an earlier step of the run may have put something else there`;
    throw new BatonError('AGENT_INVOCATION_FAILED', message, {}, { cause: error });
  });
  return path;
}

/** All reasons why a program cannot be started have one code, AGENT_INVOCATION_FAILED. */
function invocationFailure(error: unknown, { name, command, file }: ExecutorDefinition): BatonError {
  const known = toBatonError(error);
  if (known.code !== 'spawn_failed') return known;
  const hint = /\b(?:EMFILE|ENFILE|EAGAIN|ENOMEM)\b/.test(known.message)
    ? 'A limit of the system is reached: run fewer at a time (max_workers, agent.max_concurrent_agents), or raise the limit (ulimit -n, -u)'
    : `Check that the first line of ${command} is right and that it is built for this machine. It is defined in ${file}`;
  const message = `the executor ${name} could not be started: ${known.message}. ${hint}`;
  return new BatonError('AGENT_INVOCATION_FAILED', message, known.details, { cause: error });
}

function audit(report: ChildReport, { name }: ExecutorDefinition, { file }: Program, context: StepContext): void {
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

/** Limit for each stream. Further output is read and dropped. */
const MAX_OUTPUT_BYTES = 65_536;
const DRAIN_MS = 500;
/** Output is reported as activity at most this often. */
const ACTIVITY_EVERY_MS = 1_000;

export interface ChildReport extends CapturedOutput {
  /** The signal was aborted before the child exited. */
  readonly wasAborted: boolean;
  readonly envelopeWasRead: boolean;
  readonly durationMs: number;
}

interface ChildOptions {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Called at the start, and at most once a second while the child prints. */
  onActivity?(): void;
  /** Writes the input of the child. */
  deliver(pipe: EnvelopePipe): void;
  readonly stopLadder?: Partial<StopLadder>;
}

/** Writes the input of a child and waits for its exit, or stops it when the signal is aborted. Its process tree is gone afterwards. */
export async function runChild(process: ContainedProcess, options: ChildOptions): Promise<ChildReport> {
  const { clock, signal, deliver, onActivity = () => {} } = options;
  // The child has had the end of its stdin already, so do not wait for a reaction to it.
  const stop = () => process.stop({ eofMs: 0, ...options.stopLadder });
  const startedMs = clock.now().awakeMs;
  let pipe: EnvelopePipe | null = null;
  try {
    pipe = new EnvelopePipe(process);
    reportActivity(process, clock, onActivity);
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

function reportActivity({ stdout, stderr }: ContainedProcess, clock: Clock, onActivity: () => void): void {
  let reportedMs = clock.now().awakeMs;
  onActivity();
  const tick = () => {
    const nowMs = clock.now().awakeMs;
    if (nowMs - reportedMs < ACTIVITY_EVERY_MS) return;
    reportedMs = nowMs;
    onActivity();
  };
  stdout.on('data', tick);
  stderr.on('data', tick);
}

/** An exit before the abort counts as an exit, however long the output takes to drain. */
function firstEnd(process: ContainedProcess, signal: AbortSignal): Promise<'exited' | 'aborted'> {
  return new Promise((resolve) => {
    const onAbort = () => resolve('aborted');
    signal.addEventListener('abort', onAbort, { once: true });
    if (signal.aborted) onAbort(); // It was aborted during the start.
    void process.exited.then(() => {
      signal.removeEventListener('abort', onAbort);
      resolve('exited');
    });
  });
}

const MAX_MESSAGE_CHARS = 4_000;

/** Pure. The outcome of a child by version 1 of the protocol: it depends on the exit code, never on stdout. */
function childOutcome(report: ChildReport, executor: string, signal: AbortSignal): Outcome {
  const { status, durationMs, envelopeWasRead } = report;
  if (report.wasAborted) return cancelled(signal.reason);
  if (status.code === null) {
    return failure('AGENT_CANCELLED', killMessage(report, executor), { state: 'cancelled' });
  }
  if (status.code !== 0) return failure('AGENT_INVOCATION_FAILED', failureMessage(report, executor));
  if (!envelopeWasRead) {
    const message = `the executor ${executor} ended with exit code 0, but did not read all of its input: it must first read stdin to the end`;
    return failure('AGENT_INVOCATION_FAILED', message);
  }
  return success({ exit_code: 0, duration_ms: durationMs });
}

/** The code is what a shell shows for such an end. */
function killMessage({ stderr, status }: ChildReport, executor: string): string {
  const { signal } = status;
  const code = signal === null ? '' : ` (exit code ${128 + constants.signals[signal]})`;
  const text = stderr.trim();
  const message = `the executor ${executor} was killed by ${signal ?? 'a signal'}${code}, which Baton did not send`;
  return text === '' ? message : `${message}: ${endOf(text)}`;
}

function failureMessage({ stderr, status }: ChildReport, executor: string): string {
  const text = stderr.trim();
  return text === ''
    ? `the executor ${executor} printed nothing on stderr and ended with exit code ${status.code}`
    : endOf(text);
}

/**
 * Keeps the end of a text, from the start of a line or at least of a word: secrets are masked later, and half a secret would not be
 * recognised.
 */
function endOf(text: string): string {
  if (text.length <= MAX_MESSAGE_CHARS) return text;
  const end = text.slice(-MAX_MESSAGE_CHARS);
  const [partial = ''] = /^[^\n]{0,500}\n|^\S{0,500}\s|^[\udc00-\udfff]/.exec(end) ?? [];
  return `… ${end.slice(partial.length)}`;
}
