import { type Document, Parser, parseDocument } from 'yaml';
import { isNestedDeeper } from '../../domain/token-depth.js';
import { TaskUnreadable } from './task-unreadable.js';

const MAX_DEPTH = 32;

/** A YAML document with its errors. Aliases are not expanded. Throws `TaskUnreadable` for what cannot be parsed safely. */
export function parseShallowYaml(source: string): Document.Parsed {
  try {
    if (!isPlainlyShallow(source) && isNestedDeeper(new Parser().parse(source), MAX_DEPTH))
      throw new TaskUnreadable(`is nested more than ${MAX_DEPTH} levels deep`);
    // Its own check for repeated keys is quadratic.
    return parseDocument(source, { prettyErrors: false, uniqueKeys: false, logLevel: 'error' });
  } catch (error) {
    if (error instanceof TaskUnreadable) throw error;
    throw new TaskUnreadable('has settings that cannot be parsed', { cause: error });
  }
}

/**
 * Every level needs a bracket, an indicator or a deeper indent. Counting them is far cheaper than parsing twice, and
 * nearly every task passes.
 */
function isPlainlyShallow(source: string): boolean {
  const brackets = source.match(/[[{]/g)?.length ?? 0;
  const perLine = source.split('\n').map((line) => {
    const indent = line.length - line.trimStart().length;
    return 2 * (indent + (line.match(/[-?:](?=\s|$)/g)?.length ?? 0));
  });
  return brackets + perLine.reduce((most, each) => Math.max(most, each), 0) <= MAX_DEPTH;
}
