import type { ListName, StateView } from '../../api/schemas.js';

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

/** Only the issues that have every word of `query` somewhere in identifier, title, state or the reason for which they wait. */
export function filterState(state: StateView, query: string): StateView {
  const words = wordsOf(query);
  if (words.length === 0) return state;
  const kept = NAMES.map((name) => [name, (state[name] as readonly Entry[]).filter((entry) => matches(entry, words))]);
  return { ...state, ...Object.fromEntries(kept) };
}

/** How many issues there are to look through; a retry that is due stands in two lists. */
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
