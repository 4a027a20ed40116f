import type { TrackerConfig } from '../../domain/config.js';
import { type Issue, stateKey } from '../../domain/issue.js';
import type { Board, BoardEntry } from './board.js';
import type { MissingFiles } from './missing-files.js';

type States = Pick<TrackerConfig, 'terminalStates'>;

/** The entry with this id; `null` when none or several files have it. */
export function onlyEntry(board: Board, id: string): BoardEntry | null {
  const entries = board.entries.get(id) ?? [];
  return entries.length === 1 ? (entries[0] ?? null) : null;
}

/** A task in the folder `completed` is terminal, whatever its status. */
export function stateOf({ task, isCompleted }: BoardEntry, { terminalStates }: States): string {
  if (!isCompleted || terminalStates.some((state) => stateKey(state) === stateKey(task.status))) return task.status;
  return terminalStates[0] ?? task.status;
}

export function toIssue(entry: BoardEntry, board: Board, missingFiles: MissingFiles, states: States): Issue {
  return {
    ...entry.issue,
    id: entry.id,
    state: stateOf(entry, states),
    blocked_by: entry.needs.map((id) => {
      const found = onlyEntry(board, id);
      if (found) return { id, identifier: found.task.id, state: stateOf(found, states) };
      return { id, identifier: id, state: board.entries.has(id) ? null : missingFiles.lastState(id, board) };
    }),
  };
}

/** A problem for each dependency that does not exist. */
export function missingDependencies(board: Board, missingFiles: MissingFiles): string[] {
  const missing: string[] = [];
  for (const entries of board.entries.values()) {
    for (const { path, task, needs, isCompleted } of entries) {
      for (const [at, id] of isCompleted ? [] : needs.entries()) {
        if (board.entries.has(id) || missingFiles.mayReturn(id, board)) continue;
        missing.push(
          `${path}: depends on ${task.dependencies[at]}, which does not exist, so it waits for ever. Remove it from the dependencies.`,
        );
      }
    }
  }
  return missing;
}

const MAX_CYCLES = 20;
const MAX_NAMED = 10;

/** A problem for each cycle of dependencies, whose issues wait for ever. `openEntry` returns the entry of an issue that is not done. */
export function dependencyCycles(ids: Iterable<string>, openEntry: (id: string) => BoardEntry | null): string[] {
  const cycles: string[] = [];
  const done = new Set<string>();
  for (const start of ids) {
    const first = done.has(start) ? null : openEntry(start);
    if (!first) continue;
    // Iterative: a chain may be as long as the board.
    const path = [{ entry: first, next: 0 }];
    const indexOnPath = new Map([[start, 0]]);
    for (let last = path.at(-1); last; last = path.at(-1)) {
      const id = last.entry.needs[last.next++];
      if (id === undefined) {
        path.pop();
        indexOnPath.delete(last.entry.id);
        done.add(last.entry.id);
        continue;
      }
      const index = indexOnPath.get(id);
      if (index !== undefined) cycles.push(cycleProblem(path.slice(index).map(({ entry }) => entry)));
      if (cycles.length === MAX_CYCLES) return cycles;
      const needed = index !== undefined || done.has(id) ? null : openEntry(id);
      if (!needed) continue;
      indexOnPath.set(id, path.length);
      path.push({ entry: needed, next: 0 });
    }
  }
  return cycles;
}

function cycleProblem([first, ...others]: readonly BoardEntry[]): string {
  const names = others.slice(0, MAX_NAMED).map(({ task }) => task.id);
  if (others.length > MAX_NAMED) names.push(`${others.length - MAX_NAMED} more`);
  const by = names.length === 0 ? '' : ` by way of ${names.join(', ')}`;
  return `${first?.path}: depends on itself${by}, so it waits for ever. Remove one of these dependencies.`;
}
