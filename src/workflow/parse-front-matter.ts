import {
  type Alias,
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  Parser,
  parseDocument,
  type YAMLParseError,
} from 'yaml';
import { BatonError, type ErrorCode } from '../domain/errors.js';
import { isNestedDeeper, type Json, type JsonObject } from '../domain/json.js';
import { formatProblem, type Position } from '../domain/workflow.js';
import { completeProblem, FILE_START, type KeyPath, Positions, type Problem } from './positions.js';

/** Parsing blocks the event loop, so the size is limited. */
const MAX_FRONT_MATTER_CHARS = 131_072;

export interface FrontMatter {
  readonly values: JsonObject;
  readonly positions: Positions;
  /** Trimmed; lines end in `\n`. */
  readonly body: string;
  /** 1-based line on which `body` begins; 0 for an empty body. */
  readonly bodyStartLine: number;
  readonly isPresent: boolean;
  readonly warnings: readonly Problem[];
}

/**
 * Splits WORKFLOW.md into settings and prompt. `file` is its name in messages. Positions are those of the file. Throws only
 * `BatonError`.
 */
export function parseFrontMatter(bytes: Uint8Array, file: string): FrontMatter {
  const lines = decode(bytes, file).split(/\r?\n/);
  if (!isFence(lines[0])) {
    return { ...settingsOf('', file), ...bodyFrom(lines, 0), isPresent: false };
  }
  const end = lines.findIndex((line, index) => index > 0 && isFence(line));
  if (end === -1) {
    throw failure(file, FILE_START, 'the front matter has no closing `---` line. The file may be half-written.');
  }
  const yaml = lines.slice(1, end).join('\n');
  if (yaml.length > MAX_FRONT_MATTER_CHARS) {
    const limit = `the front matter is longer than ${MAX_FRONT_MATTER_CHARS} characters`;
    throw failure(file, FILE_START, `${limit}. Put long scripts into separate files.`);
  }
  return { ...settingsOf(yaml, file), ...bodyFrom(lines, end + 1), isPresent: true };
}

function decode(bytes: Uint8Array, file: string): string {
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new BatonError(
      'workflow_parse_error',
      `${file} is not valid UTF-8. It may be half-written; save it as UTF-8.`,
    );
  }
  const nul = text.indexOf('\0');
  if (nul === -1) return text;
  const before = text.slice(0, nul).split('\n');
  const at = { line: before.length, column: (before.at(-1)?.length ?? 0) + 1 };
  throw failure(file, at, 'there is a NUL byte. The file may be half-written.');
}

function isFence(line: string | undefined): boolean {
  return line !== undefined && /^---[ \t]*$/.test(line);
}

function bodyFrom(lines: readonly string[], start: number): Pick<FrontMatter, 'body' | 'bodyStartLine'> {
  const rest = lines.slice(start);
  const blank = rest.findIndex((line) => line.trim() !== '');
  return { body: rest.join('\n').trim(), bodyStartLine: blank === -1 ? 0 : start + blank + 1 };
}

function settingsOf(yaml: string, file: string): Pick<FrontMatter, 'values' | 'positions' | 'warnings'> {
  // The opening `---` is line 1: an empty line in its place keeps every position that of the file.
  const { value, positions, warnings: found } = parsed(`\n${yaml}`, file);
  const warnings = found.map(({ at, text }) => ({ at, text: `${text} in the front matter`, code: 'yaml' as const }));
  if (value === null) return { values: {}, positions, warnings };
  if (typeof value !== 'object' || Array.isArray(value)) {
    const what = Array.isArray(value) ? 'a list' : 'a single value';
    const text = `the front matter is ${what}, not a map. Write \`key: value\` lines between the two \`---\` lines.`;
    throw failure(file, { line: 2, column: 1 }, text, 'workflow_front_matter_not_a_map');
  }
  return { values: value as JsonObject, positions, warnings };
}

function parsed(source: string, file: string): ParsedYaml {
  try {
    return parseYaml(source);
  } catch (error) {
    if (!(error instanceof YamlError)) throw error;
    throw failure(file, error.at ?? FILE_START, `${error.message}. Fix the front matter.`, undefined, error.cause);
  }
}

function failure(
  file: string,
  at: Position,
  text: string,
  code: ErrorCode = 'workflow_parse_error',
  cause?: unknown,
): BatonError {
  const problem = completeProblem(file, { at, text, code });
  const options = cause === undefined ? undefined : { cause };
  return new BatonError(code, formatProblem(problem), { ...at, problems: [problem] }, options);
}

const MAX_DEPTH = 64;
const MAX_NODES = 50_000;
const MAX_ALIASES = 100;

/** Why a YAML document is rejected, and where. */
export class YamlError extends Error {
  constructor(
    message: string,
    readonly at: Position | null,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/**
 * Converts a YAML document to plain JSON and records positions. Depth, size and aliases are limited, so that an alias bomb or a
 * cycle of anchors is only an error. Throws `YamlError`.
 */
function yamlToJson(document: Document.Parsed, positions: Positions): Json {
  const walk = { document, positions, nodes: 0, aliases: 0 };
  return convert(walk, document.contents, []);
}

/** Called before the composer, which deep nesting would crash. Throws `YamlError`. */
function assertShallow(source: string): void {
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
  if (++walk.nodes > MAX_NODES) throw new YamlError(`more than ${MAX_NODES} values once aliases are expanded`, at);
  if (isAlias(node)) {
    return convert(walk, resolveAlias(walk, node), path);
  }
  if (isMap(node)) {
    const entries = new Map<string, Json>();
    for (const pair of node.items) {
      const key = keyText(walk, pair.key);
      const child = [...path, key];
      if (entries.has(key)) {
        throw new YamlError(`the key ${JSON.stringify(key)} occurs twice`, positionOf(walk, pair.key));
      }
      walk.positions.add(child, offsetOf(pair.key), offsetOf(pair.value));
      entries.set(key, convert(walk, pair.value, child));
    }
    // From entries, so that `__proto__` is an ordinary key.
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
  if (++walk.aliases > MAX_ALIASES) throw new YamlError(`more than ${MAX_ALIASES} aliases`, at);
  const target = alias.resolve(walk.document);
  if (target === undefined) throw new YamlError('an alias has no anchor before it; quote text that begins with *', at);
  return target;
}

function keyText(walk: Walk, key: unknown): string {
  const node = isAlias(key) ? resolveAlias(walk, key) : key;
  if (isScalar(node)) return String(node.value);
  throw new YamlError('a key must be plain text', positionOf(walk, key));
}

function scalarValue(value: unknown, at: Position | null): Json {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return value;
  if (typeof value === 'number' && Number.isFinite(value)) return value;
  throw new YamlError('only text, numbers, true, false, lists and maps can be settings', at);
}

function positionOf(walk: Walk, node: unknown): Position | null {
  const offset = offsetOf(node);
  return offset === undefined ? null : walk.positions.at(offset);
}

function offsetOf(node: unknown): number | undefined {
  return (node as Node | null)?.range?.[0];
}

function tooDeep(at: Position | null): YamlError {
  return new YamlError(`nested more than ${MAX_DEPTH} levels deep`, at);
}

interface ParsedYaml {
  readonly value: Json;
  readonly positions: Positions;
  readonly warnings: readonly Problem[];
}

/** Parses a YAML document to plain JSON. Messages never quote the source, which may contain a secret. Throws `YamlError`. */
export function parseYaml(source: string): ParsedYaml {
  const lineCounter = new LineCounter();
  const positions = new Positions(lineCounter, source);
  try {
    assertShallow(source);
    // The parser's check for repeated keys is quadratic; `yamlToJson` checks them.
    const document = parseDocument(source, { lineCounter, prettyErrors: false, uniqueKeys: false, logLevel: 'error' });
    const error = document.errors[0];
    if (error) throw new YamlError(`${withoutSource(error.message)}${hintOn(error)}`, positions.at(error.pos[0]));
    const warnings = document.warnings.map((warning) => ({
      at: positions.at(warning.pos[0]),
      text: withoutSource(warning.message),
    }));
    return { value: yamlToJson(document, positions), positions, warnings };
  } catch (error) {
    if (error instanceof YamlError) throw error;
    throw new YamlError('this YAML cannot be parsed; simplify it', FILE_START, { cause: error });
  }
}

/** The usual cause of such an error. */
function hintOn({ code }: YAMLParseError): string {
  if (code === 'TAB_AS_INDENT') return '; use spaces';
  const isStray = code === 'BLOCK_AS_IMPLICIT_KEY' || code === 'UNEXPECTED_TOKEN' || code === 'MISSING_CHAR';
  return isStray ? '; look at the indentation, and put text with `: `, `{` or `}` in quotes' : '';
}

/** Removes the excerpt of the file at the end of a message, which may contain a secret. */
function withoutSource(message: string): string {
  return message.replace(/: .*$/s, '').replace(/\.$/, '');
}
