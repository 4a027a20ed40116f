import type { Issue } from '../src/domain/issue.js';
import { stateKey } from '../src/domain/issue.js';

/**
 * Two hashes of an issue differ when its work has changed. `updated_at` and comments do not count, because an agent's own comment is
 * not progress.
 */
export function changeHash(issue: Issue): string {
  return hashText(
    JSON.stringify([
      stateKey(issue.state),
      issue.title,
      issue.description,
      [...issue.labels].sort(),
      issue.priority,
      issue.blocked_by
        .map((b) => JSON.stringify([b.id, b.identifier, b.state === null ? null : stateKey(b.state)]))
        .sort(),
      issue.dispatchable,
    ]),
  );
}

/** A number in [0, 1) that depends only on `seed`, so a replay gives the same jitter. */
export function fraction(seed: string): number {
  return Number.parseInt(hashText(seed).slice(0, 8), 16) / 2 ** 32;
}

/** Two 32-bit FNV-1a hashes with different bases. 64 bits suffice to tell versions of one issue apart. */
function hashText(text: string): string {
  let a = 0x811c9dc5;
  let b = 0xc9dc5118;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    a = Math.imul(a ^ unit, 0x01000193);
    b = Math.imul(b ^ ((unit << 7) | (unit >>> 9)), 0x01000193);
  }
  return mix(a) + mix(b ^ text.length);
}

/** Spreads the last characters over all bits; plain FNV does not. */
function mix(hash: number): string {
  let h = hash ^ (hash >>> 16);
  h = Math.imul(h, 0x85ebca6b);
  h ^= h >>> 13;
  h = Math.imul(h, 0xc2b2ae35);
  h ^= h >>> 16;
  return (h >>> 0).toString(16).padStart(8, '0');
}
