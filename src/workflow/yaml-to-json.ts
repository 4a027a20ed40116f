import { type Alias, type Document, isAlias, isMap, isScalar, isSeq, type Node, Parser } from 'yaml';
import type { Json } from '../domain/json.js';
import type { KeyPath, Position, Positions } from './positions.js';

const MAX_DEPTH = 64;
const MAX_NODES = 50_000;
const MAX_ALIASES = 100;

/** Why a YAML document is refused, and where. */
export class YamlRefused extends Error {
  constructor(
    message: string,
    readonly at: Position | null,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/**
 * Plain JSON of a YAML document, noting where everything stands. Bounded in depth, size and aliases, so that neither an
 * alias bomb nor a cycle of anchors costs more than an error. Throws `YamlRefused`.
 */
export function yamlToJson(document: Document.Parsed, positions: Positions): Json {
  const walk = { document, positions, nodes: 0, aliases: 0 };
  return convert(walk, document.contents, []);
}

/**
 * The parser's tokens nest without recursion, its composer does not: a document nested thousands deep kills the whole
 * process there. So depth is checked on the tokens first. Throws `YamlRefused`.
 */
export function assertShallow(source: string): void {
  const pending: { token: Token | null | undefined; depth: number }[] = [];
  for (const token of new Parser().parse(source)) pending.push({ token: token as Token, depth: 0 });
  for (let next = pending.pop(); next; next = pending.pop()) {
    const { token, depth } = next;
    if (typeof token !== 'object' || token === null) continue;
    if (depth > MAX_DEPTH) throw tooDeep(null);
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

interface Walk {
  readonly document: Document.Parsed;
  readonly positions: Positions;
  nodes: number;
  aliases: number;
}

function convert(walk: Walk, node: unknown, path: KeyPath): Json {
  if (node === null || node === undefined) return null;
  const at = positionOf(walk, node);
  if (path.length > MAX_DEPTH) throw tooDeep(at);
  if (++walk.nodes > MAX_NODES) throw new YamlRefused(`more than ${MAX_NODES} values once aliases are expanded`, at);
  if (isAlias(node)) {
    return convert(walk, resolveAlias(walk, node), path);
  }
  if (isMap(node)) {
    const entries = new Map<string, Json>();
    for (const pair of node.items) {
      const key = keyText(walk, pair.key);
      const child = [...path, key];
      if (entries.has(key)) {
        throw new YamlRefused(`the key ${JSON.stringify(key)} is there twice`, positionOf(walk, pair.key));
      }
      walk.positions.add(child, offsetOf(pair.key), offsetOf(pair.value));
      entries.set(key, convert(walk, pair.value, child));
    }
    // Not by assignment: a key named __proto__ must stay a plain key.
    return Object.fromEntries(entries);
  }
  if (isSeq(node)) {
    return node.items.map((item, index) => {
      const child = [...path, index];
      walk.positions.add(child, undefined, offsetOf(item));
      return convert(walk, item, child);
    });
  }
  return scalarValue(isScalar(node) ? node.value : undefined, at);
}

function resolveAlias(walk: Walk, alias: Alias): unknown {
  const at = positionOf(walk, alias);
  if (++walk.aliases > MAX_ALIASES) throw new YamlRefused(`more than ${MAX_ALIASES} aliases`, at);
  const target = alias.resolve(walk.document);
  if (target === undefined)
    throw new YamlRefused('an alias has no anchor before it; quote text that begins with *', at);
  return target;
}

function keyText(walk: Walk, key: unknown): string {
  const node = isAlias(key) ? resolveAlias(walk, key) : key;
  if (isScalar(node)) return String(node.value);
  throw new YamlRefused('a key must be plain text', positionOf(walk, key));
}

function scalarValue(value: unknown, at: Position | null): Json {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return value;
  if (typeof value === 'number' && Number.isFinite(value)) return value;
  throw new YamlRefused('only text, numbers, true, false, lists and maps can be settings', at);
}

function positionOf(walk: Walk, node: unknown): Position | null {
  const offset = offsetOf(node);
  return offset === undefined ? null : walk.positions.at(offset);
}

function offsetOf(node: unknown): number | undefined {
  return (node as Node | null)?.range?.[0];
}

function tooDeep(at: Position | null): YamlRefused {
  return new YamlRefused(`nested more than ${MAX_DEPTH} levels deep`, at);
}
