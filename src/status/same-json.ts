/** Are two values of JSON the same? Without writing them out: thousands of entries are compared several times a second. */
export function isSameJson(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  const [mine, other] = [a as { [key: string]: unknown }, b as { [key: string]: unknown }];
  const keys = Object.keys(mine);
  if (keys.length !== Object.keys(other).length) return false;
  return keys.every((key) => Object.hasOwn(other, key) && isSameJson(mine[key], other[key]));
}
