import { createHash } from 'node:crypto';
import { gitRefused } from './git.js';

/** The names below which Baton makes branches, unless `delivery.branch` says otherwise. */
export const OWN_BRANCHES = 'baton/';

/**
 * The branch of an issue: the rendered `delivery.branch`, else `baton/<identifier>`. What a tracker suggests does not count, because
 * then a tracker could choose where Baton pushes. Never one of `taken`: the default and the base branch.
 */
export function issueBranch(identifier: string, wanted: string | null, taken: readonly string[]): string {
  const own = `${OWN_BRANCHES}${branchNameOf(identifier)}`;
  const name = wanted === null || wanted.trim() === '' ? own : branchNameOf(wanted.trim());
  const isTaken = (one: string) => taken.some((other) => other.toLowerCase() === one.toLowerCase());
  if (!isTaken(name)) return name;
  if (!isTaken(own)) return own;
  const other = `${own}-${hashOf(identifier)}`;
  if (!isTaken(other)) return other;
  throw gitRefused(`no branch can be made for ${identifier}: ${taken.join(', ')} are taken`);
}

const MAX_LENGTH = 100;

/** Converts any text to a valid branch name. A changed name gets a hash of the text, so that it stays unique. */
export function branchNameOf(text: string): string {
  const name = text
    .replace(/[^A-Za-z0-9._/-]/gu, '-')
    .slice(0, MAX_LENGTH)
    .replace(/\.+/g, '.')
    .replace(/\/[./-]*/g, '/')
    .replace(/^[./-]+/, '')
    .replace(/\.lock(?=\/|$)/gi, '-lock')
    .replace(/[./]+$/, '');
  if (name === text && name.toUpperCase() !== 'HEAD') return name;
  return `${name === '' ? 'issue' : name}-${hashOf(text)}`;
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 12);
}
