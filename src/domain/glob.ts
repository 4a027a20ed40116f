/**
 * The source of a regular expression for a glob: `*`, `?`, `**`, `[a-z]`, `[!a-z]`, `[^a-z]`, `{a,b}` and `\` before a character that stands for
 * itself. It matches a whole path with `/` between its parts. A pattern without a slash matches a name in any folder, and a pattern that
 * matches a folder matches everything in it, unless `isExact`. Pure. The expression can be slow for hostile patterns: do not evaluate
 * those in the daemon.
 */
export function globSource(glob: string, isExact = false): string {
  const pattern = glob.replace(/^(?:\.?\/)+/, '').replace(/\/+$/, '');
  const isName = !isExact && !glob.replace(/\/+$/, '').includes('/');
  return `^${isName ? '(?:.*/)?' : ''}${translate(pattern)}${isExact ? '' : '(?:/.*)?'}$`;
}

/** Splits `*.ts, *.{js,mjs}` at the commas outside of braces. Pure. */
export function splitGlobs(text: string): string[] {
  const globs: string[] = [];
  let depth = 0;
  let current = '';
  for (const character of text) {
    if (character === '{') depth += 1;
    if (character === '}') depth = Math.max(0, depth - 1);
    if (character === ',' && depth === 0) {
      globs.push(current);
      current = '';
    } else current += character;
  }
  return [...globs, current].map((glob) => glob.trim()).filter((glob) => glob !== '');
}

/** Pure. */
export function isGlob(text: string): boolean {
  return /[*?[{]/.test(text);
}

/** The folder above the first part with a wildcard: `src` for `src/**\/*.ts`, and `.` for `*.ts`. Pure. */
export function folderOfGlob(glob: string): string {
  const parts = glob.split('/');
  const fixed = parts.slice(0, parts.findIndex(isGlob)).join('/');
  return fixed === '' ? (glob.startsWith('/') ? '/' : '.') : fixed;
}

const TOKEN = /\\(.)|\*\*\/|\*\*|\*|\?|\[([!^]?)([^\]/]+)\]|\{|\}|,|[\s\S]/gu;

function translate(pattern: string): string {
  const opened = [...pattern].filter((character) => character === '{').length;
  const closed = [...pattern].filter((character) => character === '}').length;
  const hasGroups = opened > 0 && opened === closed;
  let depth = 0;
  return pattern.replace(TOKEN, (token, escaped?: string, not?: string, set?: string) => {
    if (escaped !== undefined) return literal(escaped);
    if (token === '**/') return '(?:.*/)?';
    if (token === '**') return '.*';
    if (token === '*') return '[^/]*';
    if (token === '?') return '[^/]';
    if (set !== undefined) return `[${not === '' ? '' : '^/'}${set.replace(/[\\^[]/g, '\\$&')}]`;
    if (!hasGroups) return literal(token);
    if (token === '{') {
      depth += 1;
      return '(?:';
    }
    if (token === '}' && depth > 0) {
      depth -= 1;
      return ')';
    }
    return token === ',' && depth > 0 ? '|' : literal(token);
  });
}

/** A pattern that matches this path only. Pure. */
export function escapeGlob(path: string): string {
  return path.replace(/[*?[\]{},\\]/g, '\\$&');
}

function literal(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&');
}
