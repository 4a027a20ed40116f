import type { IneligibleView, ListName, StateView } from '../../api/schemas.js';

interface Entry {
  readonly issue_identifier: string;
  readonly title: string;
  readonly state: string;
  readonly reason?: string;
  readonly message?: string;
  readonly error?: string | null;
  readonly reasons?: readonly { readonly why: string }[];
}

const NAMES: readonly ListName[] = ['running', 'asking', 'retrying', 'parked', 'ready', 'ineligible', 'done'];

/** Keeps the issues that contain every word of `query` in identifier, title, state or reason. */
export function filterState(state: StateView, query: string): StateView {
  const words = wordsOf(query);
  if (words.length === 0) return state;
  const filtered = NAMES.map((name) => [
    name,
    (state[name] as readonly Entry[]).filter((entry) => matches(entry, words)),
  ]);
  return { ...state, ...Object.fromEntries(filtered) };
}

/** The number of different issues; a due retry is in two lists. */
export function issueCount(state: StateView): number {
  return new Set(NAMES.flatMap((name) => state[name].map((entry) => entry.issue_id))).size;
}

function matches(entry: Entry, words: readonly string[]): boolean {
  const text = [entry.issue_identifier, entry.title, entry.state, reasonOf(entry)].join('\n').toLowerCase();
  return words.every((word) => text.includes(word));
}

function reasonOf(entry: Entry): string {
  return [entry.reason, entry.message, entry.error, ...(entry.reasons ?? []).map(({ why }) => why)].join('\n');
}

function wordsOf(query: string): string[] {
  return query
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== '');
}

/** The order while the pointer is on the list: shown entries keep their places, new ones are appended, so that nothing moves under the pointer. */
export function heldOrder<T>(wanted: readonly T[], shown: readonly string[], idOf: (entry: T) => string): T[] {
  const places = new Map(shown.map((id, place) => [id, place]));
  const placeOf = (entry: T) => places.get(idOf(entry)) ?? Number.MAX_SAFE_INTEGER;
  // Sorting is stable, so new entries keep the wanted order.
  return [...wanted].sort((a, b) => placeOf(a) - placeOf(b));
}

/** Counts issues by the first rule that they fail, the most frequent first. */
export function groupByRule(ineligible: readonly IneligibleView[]): { rule: string; count: number }[] {
  const counts = new Map<string, number>();
  for (const { reasons } of ineligible) {
    const rule = reasons[0]?.rule ?? 'other';
    counts.set(rule, (counts.get(rule) ?? 0) + 1);
  }
  return [...counts].map(([rule, count]) => ({ rule, count })).sort((a, b) => b.count - a.count);
}
