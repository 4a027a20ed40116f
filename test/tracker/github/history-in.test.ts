import { describe, expect, test } from 'vitest';
import { parseEditHistory } from '../../../src/tracker/github/trust.js';
import type { TextPart } from '../../../src/tracker/untrusted-edit.js';

const at = (seconds: number) => new Date(seconds * 1000).toISOString();
const edit = (seconds: number, login: string) => ({ editedAt: at(seconds), editor: { __typename: 'User', login } });
const labelled = (seconds: number, name: string) => ({
  ...{ __typename: 'LabeledEvent', createdAt: at(seconds), label: { name } },
});
const renamed = (seconds: number, login: string) => ({
  ...{ __typename: 'RenamedTitleEvent', createdAt: at(seconds), actor: { __typename: 'User', login } },
});

/** An issue of Mallory's, edited by her and then by Ann. */
const NODE = {
  ...{ __typename: 'Issue', updatedAt: at(100), includesCreatedEdit: true },
  ...{ lastEditedAt: at(30), editor: { __typename: 'User', login: 'ann' } },
  userContentEdits: { totalCount: 3, nodes: [edit(30, 'ann'), edit(20, 'mallory'), edit(0, 'mallory')] },
  timelineItems: { pageInfo: { hasPreviousPage: false }, nodes: [renamed(5, 'mallory'), labelled(10, 'Baton')] },
};

function told(more: object = {}) {
  const history = parseEditHistory({ ...NODE, ...more }, at(100));
  if (typeof history === 'string') throw new Error(history);
  const editsOf = (wanted: TextPart) => [
    ...new Set(
      history.edits.flatMap(({ part, by, atMs }) => (part === wanted ? [`${by ?? 'nobody'} ${atMs / 1000}`] : [])),
    ),
  ];
  return { ...history, edits: editsOf('description'), renames: editsOf('title'), since: history.completeSinceMs };
}

test('all edits and renames are told, the newest first, without what was written first', () => {
  const { edits, renames, labelledAtMs, since } = told();

  expect([edits, renames]).toEqual([['ann 30', 'mallory 20'], ['mallory 5']]);
  expect([...labelledAtMs]).toEqual([['baton', 10_000]]);
  expect(since).toBe(Number.NEGATIVE_INFINITY);
});

test('the order of the edits does not matter', () => {
  const { nodes, totalCount } = NODE.userContentEdits;

  expect(told({ userContentEdits: { totalCount, nodes: [...nodes].reverse() } }).edits).toEqual(told().edits);
});

describe('of what is not told it is known since when nothing is missing', () => {
  test.each<[string, object, number]>([
    ['older edits', { userContentEdits: { totalCount: 9, nodes: [edit(30, 'ann'), edit(20, 'mallory')] } }, 20_000],
    ['newer edits, but for the last', { userContentEdits: { totalCount: 9, nodes: [edit(5, 'ann')] } }, 30_000],
    ['all edits but the last', { userContentEdits: { totalCount: 0, nodes: [] } }, 30_000],
    ['all edits but the last, as there is no list', { userContentEdits: null }, 30_000],
    ['older events', { timelineItems: { ...NODE.timelineItems, pageInfo: { hasPreviousPage: true } } }, 5_000],
  ])('%s', (_what, more, sinceMs) => {
    expect(told(more).since).toBe(sinceMs);
    expect(told(more).edits[0]).toBe('ann 30');
  });

  test('what was never edited lacks nothing', () => {
    const never = { lastEditedAt: null, editor: null, includesCreatedEdit: false };

    const { edits, since } = told({ ...never, userContentEdits: { totalCount: 0, nodes: [] } });

    expect([edits, since]).toEqual([[], Number.NEGATIVE_INFINITY]);
  });
});

test.each([
  ['an edit without a time', { userContentEdits: { totalCount: 1, nodes: [{ editor: null }] } }],
  ['an edit that is nothing', { userContentEdits: { totalCount: 1, nodes: [null] } }],
  ['a rename without a time', { timelineItems: { nodes: [{ __typename: 'RenamedTitleEvent' }] } }],
])('%s makes the history unreadable', (_what, more) => {
  expect(parseEditHistory({ ...NODE, ...more }, at(100))).toBe('unreadable');
});
