import { describe, expect, test } from 'vitest';
import { caseTwins, clashingTwin, ownershipOf } from '../../../runner/workspace/workspace-owner.js';

const owner = (key: string, issueId: string, scope = 's') => ({ key, scope, issueId, identifier: key });
const ME = { scope: 's', issueId: 'me' };

describe('SEC-3 identifiers that differ only in case', () => {
  const twins = caseTwins('AB-1', ME, [
    owner('ab-1', 'other'),
    owner('AB-1', 'me'),
    owner('AB-2', 'x'),
    owner('Ab-1', 'me'),
  ]);

  test('records of other issues under the same letters are twins; our own records are not', () => {
    expect(twins.map(({ key }) => key)).toEqual(['ab-1']);
  });

  test('on a case-insensitive disk both names lead to one folder: a clash', () => {
    const found = { dev: 1, ino: 7 };

    const clash = clashingTwin(found, [{ owner: owner('ab-1', 'other'), identity: { dev: 1, ino: 7 } }]);

    expect(clash?.issueId).toBe('other');
  });

  test.each([
    ['two folders of a case-sensitive disk', { dev: 1, ino: 7 }, { dev: 1, ino: 8 }],
    ['the same inode of another disk', { dev: 1, ino: 7 }, { dev: 2, ino: 7 }],
    ['a twin without a folder', { dev: 1, ino: 7 }, null],
    ['no folder on either side', null, null],
  ])('%s do not clash', (_, found, identity) => {
    expect(clashingTwin(found, [{ owner: owner('ab-1', 'other'), identity }])).toBeNull();
  });
});

test('a key is ours, unrecorded, or of another issue or scope', () => {
  expect(ownershipOf('k', ME, []).kind).toBe('unrecorded');
  expect(ownershipOf('k', ME, [owner('k', 'me')]).kind).toBe('ours');
  expect(ownershipOf('k', ME, [owner('k', 'you')]).kind).toBe('other');
  expect(ownershipOf('k', ME, [owner('k', 'me', 'elsewhere')]).kind).toBe('other');
});
