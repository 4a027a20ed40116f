import { LineCounter, parseDocument, type YAMLParseError } from 'yaml';
import type { Json } from '../domain/json.js';
import { FILE_START, Positions, type Problem } from './positions.js';
import { assertShallow, YamlRefused, yamlToJson } from './yaml-to-json.js';

export interface ParsedYaml {
  readonly value: Json;
  readonly positions: Positions;
  readonly warnings: readonly Problem[];
}

/** One YAML document as plain JSON, bounded in every way. A message never quotes the source, which may hold a secret. Throws `YamlRefused`. */
export function parseYaml(source: string): ParsedYaml {
  const lineCounter = new LineCounter();
  const positions = new Positions(lineCounter, source);
  try {
    assertShallow(source);
    // Its own check for repeated keys is quadratic; ours, in yamlToJson, is not.
    const document = parseDocument(source, { lineCounter, prettyErrors: false, uniqueKeys: false, logLevel: 'error' });
    const error = document.errors[0];
    if (error) throw new YamlRefused(`${withoutSource(error.message)}${hintOn(error)}`, positions.at(error.pos[0]));
    const warnings = document.warnings.map((warning) => ({
      at: positions.at(warning.pos[0]),
      text: withoutSource(warning.message),
    }));
    return { value: yamlToJson(document, positions), positions, warnings };
  } catch (error) {
    if (error instanceof YamlRefused) throw error;
    throw new YamlRefused('this YAML cannot be parsed; simplify it', FILE_START, { cause: error });
  }
}

/** What most people did who see such a fault. */
function hintOn({ code }: YAMLParseError): string {
  if (code === 'TAB_AS_INDENT') return '; use spaces';
  const isStray = code === 'BLOCK_AS_IMPLICIT_KEY' || code === 'UNEXPECTED_TOKEN' || code === 'MISSING_CHAR';
  return isStray ? '; look at the indentation, and put text with `: `, `{` or `}` in quotes' : '';
}

/** Some messages of the parser end in a piece of the file, and that piece may be a secret. */
function withoutSource(message: string): string {
  return message.replace(/: .*$/s, '').replace(/\.$/, '');
}
