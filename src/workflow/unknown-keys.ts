import type { JsonObject } from '../domain/json.js';
import { nearestWord } from '../text/nearest-word.js';
import { formatPath, type KeyPath, type Positions, type Problem } from './positions.js';
import { SECTIONS, TOP_LEVEL_KEYS } from './schema.js';

/** One warning for each key that this version does not know, with what was probably meant. */
export function unknownKeys(values: JsonObject, positions: Positions): Problem[] {
  const warnings = unknownAmong(values, [], TOP_LEVEL_KEYS, positions);
  for (const [section, shape] of Object.entries(SECTIONS)) {
    const value = values[section];
    if (typeof value !== 'object' || value === null || Array.isArray(value)) continue;
    warnings.push(...unknownAmong(value as JsonObject, [section], Object.keys(shape), positions));
  }
  return warnings;
}

function unknownAmong(values: JsonObject, path: KeyPath, known: readonly string[], positions: Positions): Problem[] {
  return Object.keys(values)
    .filter((key) => !known.includes(key))
    .map((key) => ({
      at: positions.keyAt([...path, key]),
      text: `unknown key ${formatPath([...path, key])} has no effect${suggestion(key, path, known)}`,
    }));
}

function suggestion(key: string, path: KeyPath, known: readonly string[]): string {
  const near = nearestWord(key, known);
  if (near !== null) return `; did you mean ${formatPath([...path, near])}?`;
  const home = Object.entries(SECTIONS).find(([, shape]) => nearestWord(key, Object.keys(shape)) !== null);
  if (!home) return '';
  const [section, shape] = home;
  return `; did you mean ${section}.${nearestWord(key, Object.keys(shape))}?`;
}
