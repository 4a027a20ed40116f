/** Numbers that depend on the seed alone (mulberry32). */
export function randomFrom(seed) {
  let state = seed >>> 0;
  const fraction = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const below = (limit) => Math.floor(fraction() * limit);
  return {
    below,
    between: (low, high) => low + below(high - low + 1),
    chance: (share) => fraction() < share,
    pick: (values) => values[below(values.length)],
  };
}
