import type { ExecutorDefinition, ExternalAction } from '../../../src/domain/steps/plan.js';
import type { Program, StepContext } from '../executor.js';
import { findCommand } from './find-command.js';
import { buildSpawnRequest, orbitVariables, type RunFacts } from './spawn-request.js';

export interface ProgramParts {
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
