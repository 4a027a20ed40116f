import type { Card } from './board.js';

const MAX_CIRCLES = 20;
const MAX_NAMED = 10;

/** A sentence for each circle of dependencies: what is in one waits for ever. `openCard`: the task of that id, while it is not done. */
export function dependencyCircles(ids: Iterable<string>, openCard: (id: string) => Card | null): string[] {
  const circles: string[] = [];
  const done = new Set<string>();
  for (const start of ids) {
    const first = done.has(start) ? null : openCard(start);
    if (!first) continue;
    // Without recursion: a chain may be as long as there are tasks.
    const way = [{ card: first, next: 0 }];
    const placeOnWay = new Map([[start, 0]]);
    for (let last = way.at(-1); last; last = way.at(-1)) {
      const id = last.card.needs[last.next++];
      if (id === undefined) {
        way.pop();
        placeOnWay.delete(last.card.id);
        done.add(last.card.id);
        continue;
      }
      const place = placeOnWay.get(id);
      if (place !== undefined) circles.push(sentence(way.slice(place).map(({ card }) => card)));
      if (circles.length === MAX_CIRCLES) return circles;
      const needed = place !== undefined || done.has(id) ? null : openCard(id);
      if (!needed) continue;
      placeOnWay.set(id, way.length);
      way.push({ card: needed, next: 0 });
    }
  }
  return circles;
}

function sentence([first, ...others]: readonly Card[]): string {
  const names = others.slice(0, MAX_NAMED).map(({ task }) => task.id);
  if (others.length > MAX_NAMED) names.push(`${others.length - MAX_NAMED} more`);
  const by = names.length === 0 ? '' : ` by way of ${names.join(', ')}`;
  return `${first?.path}: depends on itself${by}, so it waits for ever. Remove one of these dependencies.`;
}
