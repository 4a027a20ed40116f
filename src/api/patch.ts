import type { Json } from '../domain/json.js';
import type { ListName, Patch, StateView } from './schemas.js';

/** Repeated here, because the page bundles this file and must not bundle the schemas with their validator. */
const LIST_NAMES: { readonly [name in ListName]: true } = {
  running: true,
  asking: true,
  retrying: true,
  parked: true,
  ready: true,
  ineligible: true,
  done: true,
};
const LISTS = Object.keys(LIST_NAMES) as ListName[];

type Entry = { readonly issue_id: string };
type ListPatch = NonNullable<Patch['lists'][ListName]>;

/** What changed since `before`; `null` when only the time did. */
export function diffStates(before: StateView, after: StateView): Patch | null {
  const set: { [key: string]: Json } = {};
  for (const key of Object.keys(after) as (keyof StateView)[]) {
    if (key === 'generated_at' || key in LIST_NAMES) continue;
    if (!isSameJson(before[key], after[key])) set[key] = after[key] as Json;
  }
  const lists: { [name in ListName]?: ListPatch } = {};
  for (const name of LISTS) {
    const change = diffList(before[name], after[name]);
    if (change !== null) lists[name] = change;
  }
  const isEmpty = Object.keys(set).length === 0 && Object.keys(lists).length === 0;
  return isEmpty ? null : ({ generated_at: after.generated_at, set, lists } as Patch);
}

/** The state after a patch: `applyPatch(before, diffStates(before, after))` equals `after`. */
export function applyPatch(view: StateView, patch: Patch): StateView {
  const next: { [key: string]: unknown } = { ...view, ...patch.set, generated_at: patch.generated_at };
  for (const name of LISTS) {
    const change = patch.lists[name];
    if (change) next[name] = patchList(view[name], change);
  }
  return next as StateView;
}

function diffList(before: readonly Entry[], after: readonly Entry[]): ListPatch | null {
  const known = new Map(before.map((entry) => [entry.issue_id, entry]));
  const upsert = after.filter((entry) => !isSameJson(known.get(entry.issue_id), entry));
  const isOrdered =
    before.length === after.length && after.every((entry, at) => before[at]?.issue_id === entry.issue_id);
  if (upsert.length === 0 && isOrdered) return null;
  return { order: isOrdered ? null : after.map((entry) => entry.issue_id), upsert: upsert as ListPatch['upsert'] };
}

function patchList(before: readonly Entry[], { order, upsert }: ListPatch): Entry[] {
  const entries = new Map(before.map((entry) => [entry.issue_id, entry]));
  for (const entry of upsert) entries.set(entry.issue_id, entry);
  const ids = order ?? before.map((entry) => entry.issue_id);
  return ids.flatMap((id) => entries.get(id) ?? []);
}

/** Compares without serialising: thousands of entries are compared several times a second. */
function isSameJson(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  const [mine, other] = [a as { [key: string]: unknown }, b as { [key: string]: unknown }];
  const keys = Object.keys(mine);
  if (keys.length !== Object.keys(other).length) return false;
  return keys.every((key) => Object.hasOwn(other, key) && isSameJson(mine[key], other[key]));
}
