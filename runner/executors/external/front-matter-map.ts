import { Parser, parseDocument } from 'yaml';
import type { JsonObject } from '../../../src/domain/json.js';

/** Parsing takes the longer the larger it is, and nothing else runs meanwhile. */
const MAX_CHARS = 16_384;
const MAX_DEPTH = 32;
const MAX_ALIASES = 100;

/** The YAML between the two `---` lines that a text begins with; `null` when there is none that is a plain map. Never throws. */
export function frontMatterMap(text: string): JsonObject | null {
  const [, yaml] = /^\ufeff?---[ \t]*\r?\n((?:[^\n]*\n)*?)---[ \t]*\r?(?:\n|$)/.exec(text.slice(0, MAX_CHARS)) ?? [];
  if (yaml === undefined || !isShallow(yaml)) return null;
  try {
    const document = parseDocument(yaml, { logLevel: 'silent' });
    if (document.errors.length > 0) return null;
    // Through its text: what JSON does not know (NaN, a date) is no more in it.
    const value: unknown = JSON.parse(JSON.stringify(document.toJS({ maxAliasCount: MAX_ALIASES })) ?? 'null');
    return isMap(value) ? value : null;
  } catch {
    // Too many aliases, or a cycle of them. The content goes to the executor as it is.
    return null;
  }
}

interface Token {
  readonly value?: unknown;
  readonly items?: readonly { readonly key?: Token | null; readonly value?: Token }[];
}

/** The parser's tokens nest without recursion, its composer does not: nested thousands deep, it would take the process down. */
function isShallow(source: string): boolean {
  const pending: { token: unknown; depth: number }[] = [];
  for (const token of new Parser().parse(source)) pending.push({ token, depth: 0 });
  for (let next = pending.pop(); next; next = pending.pop()) {
    if (typeof next.token !== 'object' || next.token === null) continue;
    if (next.depth > MAX_DEPTH) return false;
    const token = next.token as Token;
    const depth = next.depth + 1;
    pending.push({ token: token.value, depth: next.depth });
    for (const { key, value } of token.items ?? []) pending.push({ token: key, depth }, { token: value, depth });
  }
  return true;
}

function isMap(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
