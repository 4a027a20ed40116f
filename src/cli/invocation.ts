import { basename, isAbsolute, relative } from 'node:path';
import { shellWord } from '../domain/shell-word.js';

export { shellWord };

/** How this person calls us, for commands that we print: what they read is what they can type. */
export function invocation(argv: readonly string[], cwd: string): string {
  const script = argv[1];
  if (script === undefined || script === '') return 'baton';
  if (/[\\/]_npx[\\/]/.test(script)) return 'npx batond';
  if (/[\\/]node_modules[\\/]\.bin[\\/]baton$/.test(script)) return 'npx baton';
  if (basename(script) === 'baton') return 'baton';
  return `node ${shellWord(shorter(script, cwd))}`;
}

/** Relative where that is below this folder. */
export function shorter(path: string, cwd: string): string {
  if (!isAbsolute(path)) return path;
  const short = relative(cwd, path);
  return short === '' || short.startsWith('..') || isAbsolute(short) ? path : short;
}
