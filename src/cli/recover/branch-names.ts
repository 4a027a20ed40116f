import { assertNever } from '../../domain/json.js';

/** A part of saved work that becomes a branch. */
export type Part =
  | { readonly kind: 'work' }
  | { readonly kind: 'branch'; readonly name: string }
  | { readonly kind: 'stash'; readonly number: number }
  | { readonly kind: 'staged' }
  | { readonly kind: 'tag'; readonly name: string };

const FOLDER = 'recovered';
const MAX_LENGTH = 100;

/** Names that do not exist yet, one for each part, all with the same number. `null`: a branch is in the way of all of them. */
export function branchNames(identifier: string, parts: readonly Part[], existing: readonly string[]): string[] | null {
  if (existing.includes(FOLDER)) return null;
  for (let number = 1; ; number += 1) {
    const base = `${FOLDER}/${wordOf(identifier)}${number === 1 ? '' : `-${number}`}`;
    const names = parts.map((part) => nameOf(part, base));
    if (!names.some((name) => existing.some((other) => isInTheWay(other, name)))) return names;
  }
}

function nameOf(part: Part, base: string): string {
  switch (part.kind) {
    case 'work':
      return base;
    case 'branch':
      return `${base}-branches/${part.name}`;
    case 'stash':
      return `${base}-stash/${part.number}`;
    case 'staged':
      return `${base}-staged`;
    case 'tag':
      return `${base}-tags/${part.name}`;
    default:
      return assertNever(part);
  }
}

/** Git keeps no branch `a` beside a branch `a/b`. Some disks do not tell `A` from `a`. */
function isInTheWay(other: string, name: string): boolean {
  const [one, two] = [other.toLowerCase(), name.toLowerCase()];
  return one === two || one.startsWith(`${two}/`) || two.startsWith(`${one}/`);
}

/** An identifier as a part of a branch name that a person can type. */
function wordOf(identifier: string): string {
  const word = identifier
    .replace(/[^A-Za-z0-9._-]+/g, '-')
    .replace(/\.{2,}/g, '.')
    .slice(0, MAX_LENGTH)
    .replace(/^[.-]+/, '')
    .replace(/(?:\.lock|[.-])+$/i, '');
  return word === '' ? 'issue' : word;
}
