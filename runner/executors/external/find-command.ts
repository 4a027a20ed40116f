import { constants } from 'node:fs';
import { access, open, stat } from 'node:fs/promises';
import { isAbsolute, join, resolve } from 'node:path';
import { BatonError } from '../../../src/domain/errors.js';
import type { ExecutorDefinition } from '../../../src/domain/steps/plan.js';

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
