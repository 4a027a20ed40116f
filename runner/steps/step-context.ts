import { lstat } from 'node:fs/promises';
import { type Clock, withinLimit } from '../../src/domain/clock.js';
import { BatonError } from '../../src/domain/errors.js';
import { type Issue, standingOf } from '../../src/domain/issue.js';
import type { Json } from '../../src/domain/json.js';
import type { Outcome } from '../../src/domain/outcome.js';
import type { RunSignal } from '../../src/domain/run-signal.js';
import type { Action } from '../../src/domain/steps/plan.js';
import { untilGone } from '../contain/process.js';
import { runContained, spawnContained } from '../contain/run-contained.js';
import { environmentFor } from '../environment.js';
import type { Program, RunResources, StepContext, StepFacts, ThreadMessage } from '../executors/executor.js';
import type { Executors } from '../executors/executors.js';
import { promptValues } from '../prompt-values.js';
import type { Attempt, RunDeps } from '../run-attempt.js';
import type { RunObserver } from '../run-observer.js';
import type { Workspace } from '../workspace/workspace-folder.js';
import type { Pulse } from './pulse.js';
import type { RenderPrompt } from './run-scope.js';
import type { StepThreads } from './step-threads.js';

interface ContextParts {
  readonly attempt: Attempt;
  readonly deps: RunDeps;
  readonly workspace: Workspace;
  readonly tmpDir: string;
  readonly resources: RunResources;
  readonly threads: StepThreads;
  messages(): readonly ThreadMessage[];
  /** Processes of the step outlive SIGKILL. */
  onUnkillable(stepId: string): void;
}

/** What an executor is given for one try of one step. */
export function stepContext(parts: ContextParts, request: ContextRequest): StepContext {
  const { attempt, deps, workspace, tmpDir, resources, threads } = parts;
  const { order, workflow } = attempt;
  const { config } = workflow;
  const { facts, action, signal } = request;
  let issue = order.issue;
  const environment: StepContext['environment'] = (extra) =>
    environmentFor('agent', {
      base: deps.baseEnv,
      policy: config.runtime.env,
      allow: config.runtime.envAllow,
      hookAllow: [],
      secretNames: workflow.secretNames,
      extra: { TMPDIR: tmpDir, BATON_RUN_ID: order.runId, BATON_WORKSPACE: workspace.path, ...extra },
    });
  const onUnkillable = () => {
    parts.onUnkillable(facts.id);
    deps.onUnkillable(order.runId);
  };
  const start = async ({ file, args, env, cwd, stdin, channel }: Program) => {
    await deps.workspaces.verify(workspace);
    const place = cwd === null ? { cwd: workspace.path, identity: workspace.identity } : await placeOf(cwd);
    const command = { marker: order.runId, file, args, env, stdin, channel, ...place };
    return untilGone(await runContained(command, deps.containment), onUnkillable);
  };
  return {
    runId: order.runId,
    attempt: order.attempt,
    issue,
    workflow,
    config,
    step: facts,
    workspace: workspace.path,
    tmpDir,
    clock: deps.clock,
    tools: deps.tools(workflow),
    signal,
    emit: (signal) => {
      for (const told of threads.tell(facts.id, signal)) request.emit(told);
    },
    audit: (kind, data) => deps.observer.audited(order.runId, kind, { step: facts.id, data }),
    warn: (message, fields) => deps.observer.warned(order.runId, message, { step: facts.id, ...fields }),
    environment,
    start,
    async launch(command) {
      const { env, unset } = environment({});
      await deps.workspaces.verify(workspace);
      const { path: cwd, identity } = workspace;
      const spec = { marker: order.runId, script: command, cwd, identity, env, unset, stdin: 'pipe' } as const;
      return untilGone(await spawnContained(spec, deps.containment), onUnkillable);
    },
    secret: deps.secret,
    run: resources,
    messages: parts.messages,
    resume: action.kind === 'agent' && action.backend === 'cli' ? threads.resumeFor(facts.id) : null,
    controls: attempt.controls,
    async refreshIssue() {
      issue = (await reread(issue, attempt, deps)) ?? issue;
      return standingOf(issue, config.tracker) === 'active' ? issue : null;
    },
    continuationPrompt: (now, turn) => {
      const maxTurns = 'maxTurns' in action ? action.maxTurns : config.agent.maxTurns;
      const known = promptValues(order, workflow, workspace.path);
      return deps.continuation.render({ ...known, issue: now, turn, max_turns: maxTurns });
    },
    promptSent: (text) => deps.observer.promptSent(order.runId, text),
  };
}

/** A folder other than the workspace is one that WORKFLOW.md or its owner chose: it must only stay what it is now. */
async function placeOf(cwd: string) {
  const { dev, ino } = await lstat(cwd);
  return { cwd, identity: { dev, ino } };
}

/** What the steps of one run share. */
export interface StepRun {
  readonly runId: string;
  readonly clock: Clock;
  readonly executors: Executors;
  readonly observer: Pick<RunObserver, 'stepStarted' | 'stepFinished' | 'audited' | 'warned'>;
  readonly pulse: Pulse;
  readonly renderPrompt: RenderPrompt;
  readonly maxInlineOutputBytes: number;
  /** The one step of a workflow without `steps:` is the run: it is not told apart, and its outcome is passed on as it is. */
  readonly isImplied: boolean;
  /** Outcomes by idempotency key, also of steps that are still at work. */
  readonly once: Map<string, Promise<Outcome>>;
  /** Counts the executions of steps. */
  nextIndex(): number;
  contextOf(request: ContextRequest): StepContext;
  emit(signal: RunSignal): void;
  /** A step has ended well: the conversation goes on with it. */
  said(stepId: string, output: Json): void;
}

interface ContextRequest {
  readonly facts: StepFacts;
  readonly action: Action;
  readonly signal: AbortSignal;
  emit(signal: RunSignal): void;
}

const REFRESH_TIMEOUT_MS = 60_000;

/** The issue as the tracker has it now; `null` when it knows nothing at the moment. A gone one has left the active states. */
async function reread(
  issue: Issue,
  { signal }: Pick<Attempt, 'signal'>,
  { clock, tracker }: Pick<RunDeps, 'clock' | 'tracker'>,
): Promise<Issue | null> {
  const late = () =>
    new BatonError('tracker_request', `the tracker did not answer within ${REFRESH_TIMEOUT_MS / 1000} s`);
  const ask = (inner: AbortSignal) => tracker.issuesByIds([issue.id], inner);
  const batch = await withinLimit(clock, REFRESH_TIMEOUT_MS, ask, late, signal);
  const found = batch.issues.find((one) => one.id === issue.id);
  if (found || batch.unknown.includes(issue.id)) return found ?? null;
  return { ...issue, dispatchable: false };
}
