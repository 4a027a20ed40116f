import { constants } from 'node:fs';
import { access, open, stat } from 'node:fs/promises';
import { isAbsolute, join, resolve } from 'node:path';
import { BatonError } from '../../../src/domain/errors.js';
import type { ExecutorDefinition, ExternalAction } from '../../../src/domain/steps/plan.js';

type Variables = { readonly [name: string]: string };

/** A command that is still to be found, with all that it is started with. */
interface SpawnRequest {
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

interface OrbitFacts {
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

/**
 * The file behind `command`: from the folder of the definition when it holds a slash, from HOME after `~/`, else on the PATH of the
 * child. Throws `AGENT_INVOCATION_FAILED`, so that a missing program reads the same in every form of containment.
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
    // Of a folder on PATH that this user may not enter nobody knows whether it is there.
    const isNews = obstacle !== NOT_THERE && !(obstacle === CLOSED && !command.includes('/'));
    if (isNews) reasons.push(`${file} ${obstacle}`);
  }
  throw notStarted(definition, searchPath, reasons);
}

const NOT_THERE = 'is not there';
const CLOSED = 'lies in a folder that this user may not enter';

/** Relative folders of PATH are left out: they would be found in the workspace, which is the agent's. */
function foldersOf(searchPath: string): readonly string[] {
  return searchPath.split(':').filter((folder) => isAbsolute(folder));
}

async function obstacleTo(file: string): Promise<string | null> {
  const found = await stat(file).catch((error: NodeJS.ErrnoException) =>
    error.code === 'EACCES' ? CLOSED : NOT_THERE,
  );
  if (typeof found === 'string') return found;
  if (!found.isFile()) return 'is no file';
  const isExecutable = await access(file, constants.X_OK).then(
    () => true,
    () => false,
  );
  if (!isExecutable) return 'may not be executed by this user';
  // The tools that build a namespace would take it for the setting of a variable, and start its first argument.
  if (file.includes('=')) return 'has a "=" in its path, with which it cannot be started';
  const interpreter = await interpreterOf(file);
  if (interpreter === null || (await isThere(interpreter))) return null;
  const hint = interpreter.endsWith('\r') ? ': the file has the line ends of Windows' : '';
  return `is to be run by ${JSON.stringify(interpreter)}, which is not there${hint}`;
}

const MAX_FIRST_LINE = 256;

/** What the first line of a script names. For one that is missing the system says that the script itself is. */
async function interpreterOf(file: string): Promise<string | null> {
  // Who may run a file may not always read it.
  const handle = await open(file).catch(() => null);
  if (handle === null) return null;
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(MAX_FIRST_LINE), 0, MAX_FIRST_LINE, 0);
    return /^#![ \t]*(\/[^ \t\n]*)[ \t\n]/.exec(buffer.toString('utf8', 0, bytesRead))?.[1] ?? null;
  } finally {
    await handle.close();
  }
}

function isThere(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    (error: NodeJS.ErrnoException) => error.code !== 'ENOENT',
  );
}

function notStarted(
  { name, command, file }: Pick<ExecutorDefinition, 'name' | 'command' | 'file'>,
  searchPath: string,
  reasons: readonly string[],
): BatonError {
  const why = reasons.length === 0 ? 'it was not found' : reasons.join('; ');
  const advice = `Install it, make it executable (chmod +x), or correct \`command\` of the executor ${name} in ${file}`;
  const message = `the command ${JSON.stringify(command)} of the executor ${name} cannot be started: ${why}; PATH is ${JSON.stringify(searchPath)}. ${advice}`;
  return new BatonError('AGENT_INVOCATION_FAILED', message, { executor: name, command });
}
