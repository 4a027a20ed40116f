/**
 * The order in which entries are shown while somebody points at them: those that were there stay where they were, new ones come behind,
 * so that nothing slides under the pointer. `wanted`: the order that it should be; `shown`: the ids as they stand now.
 */
export function heldOrder<T>(wanted: readonly T[], shown: readonly string[], idOf: (entry: T) => string): T[] {
  const places = new Map(shown.map((id, place) => [id, place]));
  const placeOf = (entry: T) => places.get(idOf(entry)) ?? Number.MAX_SAFE_INTEGER;
  // Sorting is stable: among the new ones the wanted order holds.
  return [...wanted].sort((a, b) => placeOf(a) - placeOf(b));
}
