import { constants } from 'node:fs';
import { access, open, stat } from 'node:fs/promises';
import { isAbsolute, join, resolve } from 'node:path';
import { BatonError } from '../../../src/domain/errors.js';
import type { ExecutorDefinition } from '../../../src/domain/steps/plan.js';

/**
 * Resolves `command` to a file: relative to the folder of the definition when it contains a slash, to HOME after `~/`, else on the PATH
 * of the child. Throws `AGENT_INVOCATION_FAILED`, so that a missing program has the same error in every form of containment.
 */
export async function findCommand(
  definition: Pick<ExecutorDefinition, 'name' | 'command' | 'dir' | 'file'>,
  env: { readonly [name: string]: string },
): Promise<string> {
  const { command } = definition;
  const reasons: string[] = [];
  for (const file of candidatesFor(definition, env)) {
    const obstacle = await obstacleTo(file);
    if (obstacle === null) return file;
    // Missing files and closed folders on PATH are normal and not worth a reason.
    const isReason = obstacle !== MISSING && !(obstacle === CLOSED && !command.includes('/'));
    if (isReason) reasons.push(`${file} ${obstacle}`);
  }
  throw cannotStart(definition, env.PATH ?? '', reasons);
}

function candidatesFor(
  { command, dir }: Pick<ExecutorDefinition, 'command' | 'dir'>,
  { HOME: home, PATH: searchPath = '' }: { readonly [name: string]: string },
): readonly string[] {
  if (command.startsWith('~/')) return home ? [join(home, command.slice(2))] : [];
  if (command.includes('/')) return [resolve(dir, command)];
  return foldersOf(searchPath).map((folder) => join(folder, command));
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
