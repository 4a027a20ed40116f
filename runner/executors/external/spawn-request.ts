import type { ExecutorDefinition, ExternalAction } from '../../../src/domain/steps/plan.js';

type Variables = { readonly [name: string]: string };

/** A command that is still to be found, with all that it is started with. */
export interface SpawnRequest {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Variables;
}

export interface SpawnParts {
  /** Its type says nothing here: `external` and `direct_agent` are one transport. */
  readonly definition: Pick<ExecutorDefinition, 'command' | 'args' | 'modelFlag'>;
  readonly model: string | null;
  /** The host's environment under the policy of the workflow, with our own variables in it. */
  readonly environment: Variables;
  /** `env` of the definition, its references resolved. */
  readonly definitionEnv: Variables;
  readonly envSet: Variables;
}

/** Pure. What the operator wrote wins over ours, and what the step says over the definition. */
export function buildSpawnRequest(parts: SpawnParts): SpawnRequest {
  const { definition, environment, definitionEnv, envSet } = parts;
  const [flag, model] = [textOf(definition.modelFlag), textOf(parts.model)];
  return {
    command: definition.command,
    args: [...definition.args, ...(flag === null || model === null ? [] : [flag, model])],
    env: { ...environment, ...definitionEnv, ...envSet },
  };
}

export interface OrbitFacts {
  readonly executor: string;
  readonly stepId: string;
  readonly action: Pick<ExternalAction, 'model' | 'tools' | 'allowedPrograms'>;
  /** `null`: not inside a run. */
  readonly run: RunFacts | null;
}

export interface RunFacts {
  readonly id: string;
  readonly stepIndex: number;
  /** A folder that the executor may write to; gone with the run. */
  readonly stateDir: string;
  /** The folder of the workflow; `null` where the whole environment of the host is inherited. */
  readonly root: string | null;
  readonly taskId: string | null;
}

/** Pure. The variables of the protocol. What has no value is not set at all. */
export function orbitVariables({ executor, stepId, action, run }: OrbitFacts): Variables {
  return withoutNull({
    ORBIT_AGENT_NAME: executor,
    ORBIT_AGENT_MODEL: textOf(action.model),
    ORBIT_ACTIVITY_ID: stepId,
    ORBIT_ACTIVITY_TOOLS: textOf(action.tools.join(',')),
    ORBIT_PROC_ALLOWED_PROGRAMS: textOf(action.allowedPrograms.join(',')),
    ...(run === null ? {} : runVariables(run)),
  });
}

function runVariables({ id, stepIndex, stateDir, root, taskId }: RunFacts) {
  return {
    ORBIT_RUN_ID: id,
    ORBIT_MANAGED_RUN_CONTEXT: '1',
    ORBIT_STEP_INDEX: String(stepIndex),
    ORBIT_STATE_DIR: stateDir,
    ORBIT_ROOT: root,
    ORBIT_TASK_ID: taskId,
    ORBIT_ACTIVE_TASK_ID: taskId,
  };
}

/** `null` for what is absent or blank. */
export function textOf(text: string | null): string | null {
  return text === null || text.trim() === '' ? null : text;
}

function withoutNull(values: { readonly [name: string]: string | null }): Variables {
  return Object.fromEntries(Object.entries(values).filter((entry): entry is [string, string] => entry[1] !== null));
}
