import { type Fields, fieldsOf, listOf, textOf } from '../../domain/fields.js';
import { loginIn } from './ask-nodes.js';
import { type Act, type EditHistory, labelKey } from './changed-by-stranger.js';

/** What a node of `HISTORY_QUERY` tells. `unreadable`: nothing. `late`: it is older than the issue as it was read. */
export function historyIn(node: Fields, updatedAt: string | null): EditHistory | 'unreadable' | 'late' {
  const atMs = timeOf(node.updatedAt);
  const edited = editsIn(node);
  const timeline = timelineIn(fieldsOf(node.timelineItems));
  if (node.__typename !== 'Issue' || atMs === null || edited === null || timeline === null) return 'unreadable';
  if (atMs < Date.parse(updatedAt ?? '')) return 'late';
  const { renames, labelledAtMs } = timeline;
  return {
    ...{ edits: edited.acts, renames, labelledAtMs },
    completeSinceMs: Math.max(edited.completeSinceMs, timeline.completeSinceMs),
  };
}

interface Edits {
  /** The oldest first. */
  readonly acts: readonly Act[];
  readonly completeSinceMs: number;
}

/** Of the description. GitHub tells a hundred of them, the newest first or not; the last one is told beside them. */
function editsIn(node: Fields): Edits | null {
  const { totalCount, nodes } = fieldsOf(node.userContentEdits);
  const lastAtMs = timeOf(node.lastEditedAt);
  const told = actsIn(listOf(nodes), 'editedAt', 'editor');
  if (told === null) return null;
  if (lastAtMs === null) return { acts: told, completeSinceMs: Number.NEGATIVE_INFINITY };
  const last: Act = { by: loginIn(node.editor), atMs: lastAtMs };
  const isWhole = told.length > 0 && typeof totalCount === 'number' && totalCount <= told.length;
  // What was written first is told as an edit, too.
  const acts = isWhole && node.includesCreatedEdit === true ? told.slice(1) : told;
  return { acts: [...acts, last], completeSinceMs: isWhole ? Number.NEGATIVE_INFINITY : oldestOf(told, last) };
}

/** Those that are missing are older than all that are told, as long as the newest is among these. */
function oldestOf(told: readonly Act[], last: Act): number {
  const newestMs = told.at(-1)?.atMs ?? 0;
  return newestMs >= last.atMs ? (told[0]?.atMs ?? last.atMs) : last.atMs;
}

function timelineIn({ pageInfo, nodes }: Fields) {
  if (!Array.isArray(nodes)) return null;
  const items = nodes.map(fieldsOf);
  const renames = actsIn(
    items.filter(({ __typename }) => __typename === 'RenamedTitleEvent'),
    'createdAt',
    'actor',
  );
  const labelledAtMs = new Map<string, number>();
  let oldestMs = Number.POSITIVE_INFINITY;
  for (const { __typename, createdAt, label } of items) {
    const atMs = timeOf(createdAt);
    if (atMs === null) return null;
    oldestMs = Math.min(oldestMs, atMs);
    const name = textOf(fieldsOf(label).name);
    if (__typename === 'LabeledEvent' && name !== null)
      labelledAtMs.set(labelKey(name), Math.max(atMs, labelledAtMs.get(labelKey(name)) ?? 0));
  }
  if (renames === null) return null;
  const isWhole = fieldsOf(pageInfo).hasPreviousPage === false;
  return { renames, labelledAtMs, completeSinceMs: isWhole ? Number.NEGATIVE_INFINITY : oldestMs };
}

/** The oldest first; `null`: one of them cannot be read. */
function actsIn(items: readonly unknown[], time: string, actor: string): readonly Act[] | null {
  const acts: Act[] = [];
  for (const item of items.map(fieldsOf)) {
    const atMs = timeOf(item[time]);
    if (atMs === null) return null;
    acts.push({ by: loginIn(item[actor]), atMs });
  }
  return acts.sort((one, other) => one.atMs - other.atMs);
}

function timeOf(value: unknown): number | null {
  const ms = typeof value === 'string' ? Date.parse(value) : Number.NaN;
  return Number.isNaN(ms) ? null : ms;
}
