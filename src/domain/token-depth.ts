/**
 * Whether the tokens of a YAML parser nest deeper than that. The tokens nest without recursion, the composer that makes a document
 * of them does not: a text that is nested thousands deep kills the whole process there, so whoever parses asks this first.
 */
export function isNestedDeeper(tokens: Iterable<unknown>, maxDepth: number): boolean {
  const pending: { token: unknown; depth: number }[] = [];
  for (const token of tokens) pending.push({ token, depth: 0 });
  for (let next = pending.pop(); next; next = pending.pop()) {
    const { token, depth } = next;
    if (typeof token !== 'object' || token === null) continue;
    if (depth > maxDepth) return true;
    const { value, items = [] } = token as Token;
    pending.push({ token: value, depth });
    for (const item of items) {
      pending.push({ token: item.key, depth: depth + 1 }, { token: item.value, depth: depth + 1 });
    }
  }
  return false;
}

interface Token {
  readonly value?: unknown;
  readonly items?: readonly { readonly key?: unknown; readonly value?: unknown }[];
}
