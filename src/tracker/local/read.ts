import type { TrackerConfig } from '../../domain/config.js';
import { type Issue, stateKey } from '../../domain/issue.js';
import type { Board, Card } from './board.js';
import type { Sightings } from './sightings.js';

type States = Pick<TrackerConfig, 'terminalStates'>;

/** Of several files with one id nobody knows which is meant: no issue. */
export function onlyCard(board: Board, id: string): Card | null {
  const cards = board.cards.get(id) ?? [];
  return cards.length === 1 ? (cards[0] ?? null) : null;
}

/** What lies in `completed` is done, whatever it says of itself. */
export function stateOf({ task, isCompleted }: Card, { terminalStates }: States): string {
  if (!isCompleted || terminalStates.some((state) => stateKey(state) === stateKey(task.status))) return task.status;
  return terminalStates[0] ?? task.status;
}

export function cardToIssue(card: Card, board: Board, sightings: Sightings, states: States): Issue {
  return {
    ...card.issue,
    id: card.id,
    state: stateOf(card, states),
    blocked_by: card.needs.map((id) => {
      const found = onlyCard(board, id);
      if (found) return { id, identifier: found.task.id, state: stateOf(found, states) };
      return { id, identifier: id, state: board.cards.has(id) ? null : sightings.lastState(id, board) };
    }),
  };
}

/** A sentence for each dependency that nothing will ever fulfil. */
export function missingDependencies(board: Board, sightings: Sightings): string[] {
  const missing: string[] = [];
  for (const cards of board.cards.values()) {
    for (const { path, task, needs, isCompleted } of cards) {
      for (const [at, id] of isCompleted ? [] : needs.entries()) {
        if (board.cards.has(id) || sightings.mayReturn(id, board)) continue;
        missing.push(
          `${path}: depends on ${task.dependencies[at]}, which does not exist (any more), so it waits for ever. Remove it from the dependencies.`,
        );
      }
    }
  }
  return missing;
}
