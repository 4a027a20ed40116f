import type { ExecutorDefinition, ExternalAction } from '../../../src/domain/steps/plan.js';
import type { Program, StepContext } from '../executor.js';
import { findCommand } from './find-command.js';

type Variables = { readonly [name: string]: string };

interface ProgramInput {
  readonly definition: ExecutorDefinition;
  readonly action: Pick<ExternalAction, 'model' | 'tools' | 'allowedPrograms' | 'envSet'>;
  readonly stepId: string;
  readonly run: RunFacts | null;
}

type Host = Pick<StepContext, 'environment' | 'secret' | 'warn'>;

/** The program of a step, with its resolved file, arguments and environment. Throws `AGENT_INVOCATION_FAILED`. */
export async function prepareProgram({ definition, action, stepId, run }: ProgramInput, host: Host): Promise<Program> {
  const injected = orbitVariables({ executor: definition.name, stepId, action, run });
  const { args, env } = buildSpawnRequest({
    definition,
    model: action.model,
    environment: host.environment(injected).env,
    definitionEnv: resolveEnv(definition, host),
    envSet: action.envSet,
  });
  return { file: await findCommand(definition, env), args, env, cwd: null, stdin: 'kernel_pipe', channel: false };
}

/** Resolves `$NAME` in the `env` of a definition. `env_set` is not resolved: a reference there could come from the text of an issue. */
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

/** A command that is not resolved to a file yet. */
interface SpawnRequest {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Variables;
}

export interface SpawnInput {
  /** Without its type, because `external` and `direct_agent` are started the same way. */
  readonly definition: Pick<ExecutorDefinition, 'command' | 'args' | 'modelFlag'>;
  readonly model: string | null;
  /** The environment by the policy of the workflow, with Baton's own variables. */
  readonly environment: Variables;
  /** `env` of the definition, with resolved references. */
  readonly definitionEnv: Variables;
  readonly envSet: Variables;
}

/** Pure. Variables of the definition win over Baton's, and those of the step win over the definition. */
export function buildSpawnRequest(input: SpawnInput): SpawnRequest {
  const { definition, environment, definitionEnv, envSet } = input;
  const [flag, model] = [nonBlank(definition.modelFlag), nonBlank(input.model)];
  return {
    command: definition.command,
    args: [...definition.args, ...(flag === null || model === null ? [] : [flag, model])],
    env: { ...environment, ...definitionEnv, ...envSet },
  };
}

interface OrbitFacts {
  readonly executor: string;
  readonly stepId: string;
  readonly action: Pick<ExternalAction, 'model' | 'tools' | 'allowedPrograms'>;
  /** `null` outside a run. */
  readonly run: RunFacts | null;
}

export interface RunFacts {
  readonly id: string;
  readonly stepIndex: number;
  /** A folder that the executor may write to. It is removed with the run. */
  readonly stateDir: string;
  /** The folder of the workflow; `null` when the whole environment of the host is inherited. */
  readonly root: string | null;
  readonly taskId: string | null;
}

/** Pure. The variables of the protocol. A variable without a value is not set. */
export function orbitVariables({ executor, stepId, action, run }: OrbitFacts): Variables {
  return withoutNull({
    ORBIT_AGENT_NAME: executor,
    ORBIT_AGENT_MODEL: nonBlank(action.model),
    ORBIT_ACTIVITY_ID: stepId,
    ORBIT_ACTIVITY_TOOLS: nonBlank(action.tools.join(',')),
    ORBIT_PROC_ALLOWED_PROGRAMS: nonBlank(action.allowedPrograms.join(',')),
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

/** Returns `null` for absent or blank text. */
export function nonBlank(text: string | null): string | null {
  return text === null || text.trim() === '' ? null : text;
}

function withoutNull(values: { readonly [name: string]: string | null }): Variables {
  return Object.fromEntries(Object.entries(values).filter((entry): entry is [string, string] => entry[1] !== null));
}
