import { type Alias, type Document, isAlias, isMap, isScalar, isSeq, type Node, Parser } from 'yaml';
import type { Json } from '../domain/json.js';
import { isNestedDeeper } from '../domain/token-depth.js';
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

/** Before the composer, which is not safe from it. Throws `YamlRefused`. */
export function assertShallow(source: string): void {
  if (isNestedDeeper(new Parser().parse(source), MAX_DEPTH)) throw tooDeep(null);
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
