import { Parser, parseDocument } from 'yaml';
import type { Json } from '../../../src/domain/json.js';
import { isNestedDeeper } from '../../../src/domain/token-depth.js';

const MAX_DEPTH = 32;
const MAX_ALIASES = 20;
const MAX_JSON_CHARACTERS = 1_000_000;

/** Plain JSON of a YAML text. Bounded in depth, aliases and size. Throws an `Error` that says what is wrong with it. */
export function parseYaml(source: string): Json {
  if (isNestedDeeper(new Parser().parse(source), MAX_DEPTH))
    throw new Error(`is nested more than ${MAX_DEPTH} levels deep`);
  // Its own check for repeated keys is quadratic.
  const document = parseDocument(source, { prettyErrors: false, uniqueKeys: false, logLevel: 'error' });
  const [problem] = document.errors;
  if (problem) throw new Error(`is no valid YAML: ${problem.message}`);
  const text = JSON.stringify(document.toJS({ maxAliasCount: MAX_ALIASES }) ?? null);
  if (text.length > MAX_JSON_CHARACTERS) throw new Error('is too large once its aliases are expanded');
  return JSON.parse(text) as Json;
}
