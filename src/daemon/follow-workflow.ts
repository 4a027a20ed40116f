import type { Logger } from 'pino';
import { discoverCapabilities } from '../../runner/executors/capability/definitions.js';
import { compilePrompts } from '../../templates/prompts.js';
import type { Clock } from '../domain/clock.js';
import { ERRORS } from '../domain/error-table.js';
import type { Dispatch } from '../domain/events.js';
import type { Store } from '../domain/ports.js';
import { allSteps, type Step } from '../domain/steps/plan.js';
import { type AllowedContent, formatProblem, type Workflow, type WorkflowProblem } from '../domain/workflow.js';
import { cutDiff } from '../text/unified-diff.js';
import { parseWorkflow } from '../workflow/load-workflow.js';
import { resolveSecret } from '../workflow/secrets.js';
import { type WorkflowWatcher, watchWorkflow } from '../workflow/watch-workflow.js';
import type { WorkflowVersions } from '../workflow/workflow-versions.js';
import type { DaemonOptions } from './options.js';
import type { Reopening } from './reopening.js';
import { allowCommand, keepAllowed } from './workflow-gate.js';

interface FollowLinks {
  readonly clock: Clock;
  readonly versions: WorkflowVersions;
  readonly dispatch: Dispatch;
  readonly reopening: Reopening;
  readonly store: Pick<Store, 'allowed'>;
  readonly allowed: AllowedContent;
}

/**
 * Watches WORKFLOW.md. New settings reach the core as an event; invalid ones and those that must be allowed first are logged and shown
 * in the status.
 */
export async function followWorkflow(
  options: DaemonOptions,
  { clock, versions, dispatch, reopening, store, allowed }: FollowLinks,
): Promise<WorkflowWatcher> {
  const { log, redactor, trackers, env, homeDir, loaded: initial } = options;
  const allow = await allowCommand(options);
  const trackerKinds = new Map(trackers.kinds.map((kind) => [kind, trackers.entry(kind).defaults]));
  const logWarnings = (warnings: readonly WorkflowProblem[]) => {
    for (const warning of warnings) log.warn({ detail: formatProblem(warning) }, 'workflow warning');
  };
  logWarnings(versions.current.warnings);
  logBackend(log, versions.current);
  return watchWorkflow({
    path: versions.current.path,
    homeDir,
    initial,
    allowed,
    holdsChanges: options.allowChanges !== true,
    clock,
    load: async (file) => {
      const loaded = await parseWorkflow(file, {
        env,
        homeDir,
        trackerKinds,
        capabilities: (projectDir) => discoverCapabilities({ projectDir, homeDir }),
        comparesCode: options.allowChanges !== true,
        ...(options.backend === undefined ? {} : { backendFlag: options.backend }),
      });
      compilePrompts(loaded.workflow);
      return loaded;
    },
    onChange: ({ workflow, loaded, changes, waitingKeys, literalSecrets, allowed: content }) => {
      for (const secret of literalSecrets) redactor.add(secret);
      // A hook can receive these by name and print them.
      for (const name of workflow.secretNames) {
        const value = resolveSecret(`$${name}`, env);
        if (value !== null) redactor.add(value);
      }
      log.info({ changes }, 'workflow changed, applies to what starts next');
      logWarnings(workflow.warnings);
      logBackend(log, workflow);
      if (waitingKeys.length > 0)
        log.info({ keys: waitingKeys }, 'these keys keep their old values until no run is active');
      void keepAllowed(content, store, log);
      versions.take(workflow, clock.now().wallMs, waitingKeys);
      dispatch({ type: 'config_changed', config: workflow.config, workflowHash: workflow.hash });
      // With --once the daemon ends soon anyway.
      if (options.once === undefined) reopening.changed(loaded, waitingKeys);
    },
    onHeld: ({ changes, diff }, literalSecrets) => {
      for (const secret of literalSecrets) redactor.add(secret);
      const code = 'workflow_not_allowed';
      const detail = ERRORS[code].text;
      log.warn(
        { code, changes, allow, detail, diff: cutDiff(diff, MAX_DIFF_CHARS) },
        'workflow is held, the allowed settings stay',
      );
    },
    onHeldGone: () => log.info('workflow is no longer held'),
    onError: ({ code, message }) =>
      log.error({ code, detail: message }, 'workflow is faulty, the last good settings stay'),
    onRecovered: () => log.info('workflow is good again'),
    onWatchError: ({ message }) =>
      log.warn({ detail: message }, 'workflow cannot be watched, looking before each poll'),
  });
}

const MAX_DIFF_CHARS = 10_000;

/** Logs the backend that `auto` stands for, once for each version of the workflow. */
function logBackend(log: Logger, { plan }: Workflow): void {
  if (plan.isImplied) return;
  const steps = [...allSteps(plan.steps)];
  const { value, source } = plan.backend;
  const isHttp = (step: Step) =>
    step.shape === 'action' && step.action.kind === 'agent' && step.action.backend === 'http';
  // A default that no step uses is not worth a field.
  const isRelevant = source !== 'built-in' || steps.some(isHttp);
  log.info({ steps: steps.length, ...(isRelevant ? { backend: value, source } : {}) }, 'steps of the workflow');
}
