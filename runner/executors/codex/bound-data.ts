import type { Json, JsonObject } from '../../../src/domain/json.js';

/** Cuts what an agent sent to a size that is fit for logs and pages: strings, lists, maps, depth and the whole are bounded. */
const MAX_TEXT = 2_000;
const MAX_ENTRIES = 40;
const MAX_DEPTH = 6;
const MAX_TOTAL = 16_000;

/** One text that people want to see whole, such as the diff of a turn. */
export const WIDE = { text: 100_000, total: 110_000 };

export function boundData(value: unknown, max = { text: MAX_TEXT, total: MAX_TOTAL }): JsonObject {
  const bounded = bound(value, 0, { left: max.total, text: max.text });
  const isMap = typeof bounded === 'object' && bounded !== null && !Array.isArray(bounded);
  return isMap ? (bounded as JsonObject) : { value: bounded };
}

export function cutText(text: string, max = MAX_TEXT): string {
  return text.length <= max ? text : `${text.slice(0, max)}… (${text.length - max} more characters)`;
}

interface Budget {
  left: number;
  readonly text: number;
}

function bound(value: unknown, depth: number, budget: Budget): Json {
  switch (typeof value) {
    case 'string': {
      const cut = cutText(value, Math.max(0, Math.min(budget.text, budget.left)));
      budget.left -= cut.length;
      return cut;
    }
    case 'number':
      return Number.isFinite(value) ? value : String(value);
    case 'boolean':
      return value;
    case 'object':
      if (value === null) return null;
      if (depth >= MAX_DEPTH || budget.left <= 0) return '…';
      return Array.isArray(value) ? boundList(value, depth, budget) : boundMap(value, depth, budget);
    default:
      return null;
  }
}

function boundList(list: readonly unknown[], depth: number, budget: Budget): Json {
  const kept = list.slice(0, MAX_ENTRIES).map((entry) => bound(entry, depth + 1, budget));
  return list.length > MAX_ENTRIES ? [...kept, `… (${list.length - MAX_ENTRIES} more)`] : kept;
}

// `fromEntries` defines own properties: a `__proto__` key stays a key.
function boundMap(map: object, depth: number, budget: Budget): Json {
  const keys = Object.keys(map);
  const kept = keys.slice(0, MAX_ENTRIES).map((key) => {
    const name = cutText(key, 100);
    budget.left -= name.length + 8;
    return [name, bound((map as { [key: string]: unknown })[key], depth + 1, budget)] as const;
  });
  if (keys.length > MAX_ENTRIES) kept.push(['…', `${keys.length - MAX_ENTRIES} more`]);
  return Object.fromEntries(kept);
}
