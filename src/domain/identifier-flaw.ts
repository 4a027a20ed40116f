/** Why an identifier cannot name a workspace; null when it can. */
export function identifierFlaw(identifier: string): string | null {
  if (identifier === '') return 'is empty';
  if (identifier === '.' || identifier === '..') return 'is a name of the file system';
  if (identifier.includes('\0')) return 'contains a NUL';
  // Unpaired surrogates are all encoded as the same bytes and would have the same hash.
  if (/\p{Surrogate}/u.test(identifier)) return 'is not valid Unicode';
  return null;
}
