import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { BatonError, toBatonError } from '../../../src/domain/errors.js';
import { cancelled, failureOf, type Outcome } from '../../../src/domain/outcome.js';
import type { ExecutorDefinition, ExternalAction } from '../../../src/domain/steps/plan.js';
import type { Executor, Program, StepContext } from '../executor.js';
import { childOutcome } from './child-outcome.js';
import { buildEnvelope, jobOf, taskOf } from './envelope.js';
import { prepareProgram } from './prepare-program.js';
import { readSkills } from './read-skills.js';
import { type ChildReport, runChild } from './run-child.js';
import { textOf } from './spawn-request.js';

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
