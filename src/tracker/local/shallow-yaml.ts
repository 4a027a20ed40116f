import { type Document, Parser, parseDocument } from 'yaml';
import { TaskUnreadable } from './task-unreadable.js';

const MAX_DEPTH = 32;

/** A YAML document with its errors. Aliases are not expanded. Throws `TaskUnreadable` for what cannot be parsed safely. */
export function parseShallowYaml(source: string): Document.Parsed {
  try {
    if (!isPlainlyShallow(source)) assertShallow(source);
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

/** The parser's tokens nest without recursion, its composer does not: nested deep enough it kills the process. */
function assertShallow(source: string): void {
  const pending: { token: Token | null | undefined; depth: number }[] = [];
  for (const token of new Parser().parse(source)) pending.push({ token: token as Token, depth: 0 });
  for (let next = pending.pop(); next; next = pending.pop()) {
    const { token, depth } = next;
    if (typeof token !== 'object' || token === null) continue;
    if (depth > MAX_DEPTH) throw new TaskUnreadable(`is nested more than ${MAX_DEPTH} levels deep`);
    pending.push({ token: token.value as Token, depth });
    for (const item of token.items ?? []) {
      pending.push({ token: item.key, depth: depth + 1 }, { token: item.value, depth: depth + 1 });
    }
  }
}

interface Token {
  readonly value?: unknown;
  readonly items?: readonly { readonly key?: Token | null; readonly value?: Token }[];
}
