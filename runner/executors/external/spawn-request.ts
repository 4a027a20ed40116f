import { constants } from 'node:fs';
import { access, open, stat } from 'node:fs/promises';
import { isAbsolute, join, resolve } from 'node:path';
import { BatonError } from '../../../src/domain/errors.js';
import type { ExecutorDefinition, ExternalAction } from '../../../src/domain/steps/plan.js';
import type { Program, StepContext } from '../executor.js';

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
  return { file: await findCommand(definition, env), args, env, cwd: null, stdin: 'pipe', channel: false };
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

/**
 * Resolves `command` to a file: relative to the folder of the definition when it contains a slash, to HOME after `~/`, else on the PATH
 * of the child. Throws `AGENT_INVOCATION_FAILED`, so that a missing program has the same error in every form of containment.
 */
export async function findCommand(
  definition: Pick<ExecutorDefinition, 'name' | 'command' | 'dir' | 'file'>,
  env: { readonly [name: string]: string },
): Promise<string> {
  const { command, dir } = definition;
  const searchPath = env.PATH ?? '';
  const candidates = command.startsWith('~/')
    ? env.HOME
      ? [join(env.HOME, command.slice(2))]
      : []
    : command.includes('/')
      ? [resolve(dir, command)]
      : foldersOf(searchPath).map((folder) => join(folder, command));
  const reasons: string[] = [];
  for (const file of candidates) {
    const obstacle = await obstacleTo(file);
    if (obstacle === null) return file;
    // Missing files and closed folders on PATH are normal and not worth a reason.
    const isReason = obstacle !== MISSING && !(obstacle === CLOSED && !command.includes('/'));
    if (isReason) reasons.push(`${file} ${obstacle}`);
  }
  throw cannotStart(definition, searchPath, reasons);
}

const MISSING = 'does not exist';
const CLOSED = 'is in a folder that this user may not enter';

/** Skips relative folders: they would be resolved in the workspace, where the agent writes. */
function foldersOf(searchPath: string): readonly string[] {
  return searchPath.split(':').filter((folder) => isAbsolute(folder));
}

async function obstacleTo(file: string): Promise<string | null> {
  const stats = await stat(file).catch((error: NodeJS.ErrnoException) => (error.code === 'EACCES' ? CLOSED : MISSING));
  if (typeof stats === 'string') return stats;
  if (!stats.isFile()) return 'is not a file';
  const isExecutable = await access(file, constants.X_OK).then(
    () => true,
    () => false,
  );
  if (!isExecutable) return 'is not executable for this user';
  // The tools that create a namespace would read it as a variable assignment and start its first argument.
  if (file.includes('=')) return 'has a "=" in its path, so it cannot be started';
  const interpreter = await interpreterOf(file);
  if (interpreter === null || (await exists(interpreter))) return null;
  const hint = interpreter.endsWith('\r') ? ': the file has Windows line ends' : '';
  return `needs the interpreter ${JSON.stringify(interpreter)}, which does not exist${hint}`;
}

const MAX_FIRST_LINE = 256;

/** The interpreter in the first line of a script. For a missing one the system would report that the script itself is missing. */
async function interpreterOf(file: string): Promise<string | null> {
  // A file may be executable but not readable.
  const handle = await open(file).catch(() => null);
  if (handle === null) return null;
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(MAX_FIRST_LINE), 0, MAX_FIRST_LINE, 0);
    return /^#![ \t]*(\/[^ \t\n]*)[ \t\n]/.exec(buffer.toString('utf8', 0, bytesRead))?.[1] ?? null;
  } finally {
    await handle.close();
  }
}

function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    (error: NodeJS.ErrnoException) => error.code !== 'ENOENT',
  );
}

function cannotStart(
  { name, command, file }: Pick<ExecutorDefinition, 'name' | 'command' | 'file'>,
  searchPath: string,
  reasons: readonly string[],
): BatonError {
  const why = reasons.length === 0 ? 'it was not found' : reasons.join('; ');
  const advice = `Install it, make it executable (chmod +x), or correct \`command\` of the executor ${name} in ${file}`;
  const message = `the command ${JSON.stringify(command)} of the executor ${name} cannot be started: ${why}; PATH is ${JSON.stringify(searchPath)}. ${advice}`;
  return new BatonError('AGENT_INVOCATION_FAILED', message, { executor: name, command });
}
