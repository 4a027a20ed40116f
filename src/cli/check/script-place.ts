import type { Position } from '../../workflow/positions.js';

/** Where a line and column of a script stand in the file that holds it. Both are 1-based. */
export type ScriptPlace = (line: number, column?: number) => Position;

/**
 * `start` is where the YAML value begins: the `|` of a block, the first character of a one-liner. A folded block and a text over
 * several lines have no lines of their own left; they are pointed at as a whole.
 */
export function scriptPlace(fileLines: readonly string[], start: Position, script: string): ScriptPlace {
  const rest = (fileLines[start.line - 1] ?? '').slice(start.column - 1);
  const style = /^(?:[&!]\S*\s+)*([|>"'])/.exec(rest)?.[1] ?? '';
  const lastLine = script.trimEnd().split('\n').length;
  if (style === '|') {
    const indent = indentOf(fileLines.slice(start.line));
    return (line, column = 1) => ({ line: start.line + Math.min(line, lastLine), column: indent + column });
  }
  if (style === '>') {
    const column = indentOf(fileLines.slice(start.line)) + 1;
    return () => ({ line: start.line + 1, column });
  }
  const quote = style === '' ? 0 : 1;
  return (line, column = 1) => (line === 1 ? { line: start.line, column: start.column + quote + column - 1 } : start);
}

function indentOf(lines: readonly string[]): number {
  const first = lines.find((line) => line.trim() !== '') ?? '';
  return first.length - first.trimStart().length;
}
