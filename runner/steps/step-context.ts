import { lstat } from 'node:fs/promises';
import { withinLimit } from '../../src/domain/clock.js';
import { BatonError } from '../../src/domain/errors.js';
import { type Issue, standingOf } from '../../src/domain/issue.js';
import type { RunSignal } from '../../src/domain/run-signal.js';
import type { Action } from '../../src/domain/steps/plan.js';
import { checkNotHidden, pinServiceFolders } from '../contain/hidden-directories.js';
import { spawnContained } from '../contain/spawn-contained.js';
import { agentEnvironment } from '../environment.js';
import type { StepContext, StepFacts } from '../executors/executor.js';
import type { RunContext } from '../run-context.js';

interface StepTry {
  readonly facts: StepFacts;
  readonly action: Action;
  readonly signal: AbortSignal;
  emit(signal: RunSignal): void;
}

/** What an executor is given for one try of one step. */
export function createStepContext(run: RunContext, { facts, action, signal, emit }: StepTry): StepContext {
  const { order, workflow, config, services, workspace, tmpDir, runId } = run;
  const { observer, clock, containment, workspaces } = services;
  let { issue } = order;
  const environment: StepContext['environment'] = (extra) =>
    agentEnvironment(workflow, services.baseEnv, {
      TMPDIR: tmpDir,
      BATON_RUN_ID: runId,
      BATON_WORKSPACE: workspace.path,
      ...extra,
    });
  const onUnkillable = () => run.reportUnkillable(facts.id);
  const workspaceFolder = { cwd: workspace.path, identity: workspace.identity };
  /** Called right before each spawn. */
  const place = async () => {
    await workspaces.verify(workspace);
    const folders = await pinServiceFolders(services.baseEnv, config.runtime.envAllow);
    checkNotHidden(tmpDir, folders, 'TMPDIR');
    return { marker: runId, onUnkillable, hide: [await workspaces.ownFolder(), ...folders] };
  };
  return {
    runId,
    attempt: order.attempt,
    issue,
    workflow,
    config,
    step: facts,
    workspace: workspace.path,
    tmpDir,
    clock,
    tools: services.tools(workflow),
    signal,
    emit,
    audit: (kind, data) => observer.audited(runId, kind, { step: facts.id, data }),
    warn: (message, fields) => run.warn(message, { step: facts.id, ...fields }),
    environment,
    async start({ file, args, env, cwd, stdin, channel }) {
      await services.checkFiles(workflow, 'all');
      const common = await place();
      const folder = cwd === null ? workspaceFolder : await currentFolder(cwd);
      return spawnContained({ ...common, file, args, env, stdin, channel, ...folder }, containment);
    },
    async launch(command) {
      const { env, unset } = environment({});
      await services.checkFiles(workflow, 'run');
      const shell = { script: command, env, unset, stdin: 'pipe' } as const;
      return spawnContained({ ...(await place()), ...shell, ...workspaceFolder }, containment);
    },
    secret: services.secret,
    knownSecrets: services.knownSecrets,
    resources: run.resources,
    messages: () => run.conversation.messages,
    resume: action.kind === 'agent' && action.backend === 'cli' ? run.threads.resumeFor(facts.id) : null,
    mailbox: run.run.mailbox,
    async refreshIssue() {
      issue = (await rereadIssue(issue, run)) ?? issue;
      return standingOf(issue, config.tracker) === 'active' ? issue : null;
    },
    continuationPrompt: (current, turn) => {
      const maxTurns = 'maxTurns' in action ? action.maxTurns : config.agent.maxTurns;
      return run.prompts.continuation(current, turn, maxTurns);
    },
    promptSent: (text) => observer.promptSent(runId, text),
    agentStderr: (text) => observer.agentStderr(runId, text),
  };
}

/** A folder other than the workspace was chosen by WORKFLOW.md or its owner. It must only stay the same folder until the spawn. */
async function currentFolder(cwd: string) {
  const { dev, ino } = await lstat(cwd);
  return { cwd, identity: { dev, ino } };
}

const REFRESH_TIMEOUT_MS = 60_000;

/**
 * The issue as the tracker has it now. Returns null when the tracker knows nothing at the moment; an issue that is gone has left the
 * active states.
 */
async function rereadIssue(issue: Issue, { run, services }: RunContext): Promise<Issue | null> {
  const { clock, tracker } = services;
  const onLate = () =>
    new BatonError('tracker_request', `the tracker did not answer within ${REFRESH_TIMEOUT_MS / 1000} s`);
  const read = (signal: AbortSignal) => tracker.issuesByIds([issue.id], signal);
  const batch = await withinLimit(clock, REFRESH_TIMEOUT_MS, read, onLate, run.signal);
  const found = batch.issues.find(({ id }) => id === issue.id);
  if (found || batch.unknown.includes(issue.id)) return found ?? null;
  return { ...issue, dispatchable: false };
}
