import { BatonError } from '../domain/errors.js';
import type { JsonObject } from '../domain/json.js';
import { type ParsedYaml, parseYaml } from './parse-yaml.js';
import { FILE_START, formatProblem, type Position, type Positions, type Problem } from './positions.js';
import { YamlRefused } from './yaml-to-json.js';

/** Parsing takes the longer the larger the front matter is, and nothing else runs meanwhile. */
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
 * Splits WORKFLOW.md into settings and prompt. `file` is the name for messages. All positions are those of the file.
 * Throws `BatonError` and nothing else.
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
    throw failure(file, FILE_START, `${limit}. Put long scripts into files of their own.`);
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
  const warnings = found.map(({ at, text }) => ({ at, text: `${text} in the front matter` }));
  if (value === null) return { values: {}, positions, warnings };
  if (typeof value !== 'object' || Array.isArray(value)) {
    const what = Array.isArray(value) ? 'a list' : 'a single value';
    throw new BatonError(
      'workflow_front_matter_not_a_map',
      formatProblem(file, {
        at: { line: 2, column: 1 },
        text: `the front matter is ${what}, not a map. Write \`key: value\` lines between the two \`---\` lines.`,
      }),
    );
  }
  return { values: value as JsonObject, positions, warnings };
}

function parsed(source: string, file: string): ParsedYaml {
  try {
    return parseYaml(source);
  } catch (error) {
    if (!(error instanceof YamlRefused)) throw error;
    throw failure(file, error.at ?? FILE_START, `${error.message}. Fix the front matter.`, error.cause);
  }
}

function failure(file: string, at: Position, text: string, cause?: unknown): BatonError {
  return new BatonError(
    'workflow_parse_error',
    formatProblem(file, { at, text }),
    { ...at },
    cause === undefined ? undefined : { cause },
  );
}
