import { Parser, parseDocument } from 'yaml';
import type { Json } from '../../../src/domain/json.js';

const MAX_DEPTH = 32;
const MAX_ALIASES = 20;
const MAX_JSON_CHARACTERS = 1_000_000;

/** Plain JSON of a YAML text. Bounded in depth, aliases and size. Throws an `Error` that says what is wrong with it. */
export function parseYaml(source: string): Json {
  assertShallow(source);
  // Its own check for repeated keys is quadratic.
  const document = parseDocument(source, { prettyErrors: false, uniqueKeys: false, logLevel: 'error' });
  const [problem] = document.errors;
  if (problem) throw new Error(`is no valid YAML: ${problem.message}`);
  const text = JSON.stringify(document.toJS({ maxAliasCount: MAX_ALIASES }) ?? null);
  if (text.length > MAX_JSON_CHARACTERS) throw new Error('is too large once its aliases are expanded');
  return JSON.parse(text) as Json;
}

/** The parser's tokens nest without recursion, its composer does not: nested deep enough it kills the process. */
function assertShallow(source: string): void {
  const pending: { token: Token | null | undefined; depth: number }[] = [];
  for (const token of new Parser().parse(source)) pending.push({ token: token as Token, depth: 0 });
  for (let next = pending.pop(); next; next = pending.pop()) {
    const { token, depth } = next;
    if (typeof token !== 'object' || token === null) continue;
    if (depth > MAX_DEPTH) throw new Error(`is nested more than ${MAX_DEPTH} levels deep`);
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
