import { describe, expect, test } from 'vitest';
import type { Trust } from '../../../src/domain/config.js';
import { needsHistory, parseEditHistory, untrustedEdit } from '../../../src/tracker/github/trust.js';
import type { Edit, EditRules, TextPart } from '../../../src/tracker/untrusted-edit.js';

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

test('edits and renames are listed newest first, without the first version', () => {
  const { edits, renames, labelledAtMs, since } = told();

  expect([edits, renames]).toEqual([['ann 30', 'mallory 20'], ['mallory 5']]);
  expect([...labelledAtMs]).toEqual([['baton', 10_000]]);
  expect(since).toBe(Number.NEGATIVE_INFINITY);
});

test("the order of GitHub's edits does not matter", () => {
  const { nodes, totalCount } = NODE.userContentEdits;

  expect(told({ userContentEdits: { totalCount, nodes: [...nodes].reverse() } }).edits).toEqual(told().edits);
});

describe('an incomplete history has the time since when it is complete', () => {
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

  test('a description without edits is complete', () => {
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

const CREATED = 0;
type Act = Omit<Edit, 'part'>;
const act = (seconds: number, by: string | null): Act => ({ by, atMs: CREATED + seconds * 1000 });

interface Case {
  readonly author?: string | null;
  readonly isMember?: boolean;
  readonly labels?: readonly string[];
  readonly requiredLabels?: readonly string[];
  /** The label that makes its state. */
  readonly stateLabel?: string;
  readonly trust: Trust;
  readonly edit?: Act | readonly Act[];
  readonly rename?: Act | readonly Act[];
  /** Seconds after the issue was made, from which on nothing is missing. */
  readonly completeSince?: number;
  /** Seconds after the issue was made. */
  readonly labelled?: { readonly [label: string]: number };
}

function issueOf({ author = 'mallory', isMember = false, labels = ['Baton'] }: Case) {
  return { author, isAuthorMember: isMember, labels, createdAt: new Date(CREATED).toISOString() };
}

function rulesOf({ trust, requiredLabels = ['baton'], stateLabel }: Case): EditRules {
  return { trust, requiredLabels, stateLabelOf: () => stateLabel ?? null };
}

function heldBack(issue: Case): string | null {
  const { edit = [], rename = [], labelled = { baton: 10 }, completeSince = Number.NEGATIVE_INFINITY } = issue;
  const labelledAtMs = new Map(Object.entries(labelled).map(([label, seconds]) => [label, CREATED + seconds * 1000]));
  const completeSinceMs = CREATED + completeSince * 1000;
  const editsOf = (part: TextPart, acts: Act | readonly Act[]) => [acts].flat().map((each) => ({ part, ...each }));
  const edits = [...editsOf('description', edit), ...editsOf('title', rename)].sort((a, b) => b.atMs - a.atMs);
  return untrustedEdit(issueOf(issue), { edits, labelledAtMs, completeSinceMs }, rulesOf(issue));
}

const AFTER = 'was changed by mallory, who is no member, after the label "baton" was put on it';

describe('anyone may write, a label approves', () => {
  test.each<[string, Case, string | null]>([
    ['no edit', { trust: 'anyone' }, null],
    ['its author edited it before', { trust: 'anyone', edit: act(9, 'mallory') }, null],
    ['its author edited it after', { trust: 'anyone', edit: act(11, 'mallory') }, AFTER],
    ['its author edited it in the same second', { trust: 'anyone', edit: act(10, 'mallory') }, AFTER],
    [
      'its author edited it after, spelled otherwise',
      { trust: 'anyone', edit: act(11, 'Mallory') },
      AFTER.replace('mallory', 'Mallory'),
    ],
    ['its author renamed it before', { trust: 'anyone', rename: act(9, 'mallory') }, null],
    ['its author renamed it after', { trust: 'anyone', rename: act(11, 'mallory') }, AFTER],
    ['a person with write access edited it after', { trust: 'anyone', edit: act(11, 'ann') }, null],
    [
      'a person with write access edited it, its author renamed it',
      { trust: 'anyone', edit: act(12, 'ann'), rename: act(11, 'mallory') },
      AFTER,
    ],
    [
      'its author edited it after, and then a person with write access',
      { trust: 'anyone', edit: [act(11, 'mallory'), act(12, 'ann')] },
      AFTER,
    ],
    [
      'its author renamed it after, and then a person with write access',
      { trust: 'anyone', rename: [act(11, 'mallory'), act(12, 'ann')] },
      AFTER,
    ],
    [
      'its author edited it before, and a person with write access after',
      { trust: 'anyone', edit: [act(9, 'mallory'), act(12, 'ann')] },
      null,
    ],
    ['nothing is missing since before the label', { trust: 'anyone', edit: act(12, 'ann'), completeSince: 9 }, null],
    [
      'edits right after the label are missing',
      { trust: 'anyone', edit: act(12, 'ann'), completeSince: 10 },
      'was changed so often that GitHub does not say who did so after the label "baton" was put on it',
    ],
    [
      'a deleted account edited it after',
      { trust: 'anyone', edit: act(11, null) },
      AFTER.replace('mallory', 'somebody whose account is gone'),
    ],
    ['a deleted account edited it before', { trust: 'anyone', edit: act(9, null) }, null],
    [
      "its author's account is deleted, so any later editor may be the author",
      { trust: 'anyone', author: null, edit: act(11, 'eve') },
      AFTER.replace('mallory', 'eve'),
    ],
    [
      'a member wrote it and edited it after',
      { trust: 'anyone', author: 'ann', isMember: true, edit: act(11, 'ann') },
      null,
    ],
    ['no label is required', { trust: 'anyone', requiredLabels: [], edit: act(11, 'mallory') }, null],
    [
      'no label is required, and it was edited after the one that made its state',
      { trust: 'anyone', requiredLabels: [], stateLabel: 'Ready', labelled: { ready: 10 }, edit: act(11, 'mallory') },
      AFTER.replace('baton', 'Ready'),
    ],
    [
      'no label is required, and it was edited before the one that made its state',
      { trust: 'anyone', requiredLabels: [], stateLabel: 'Ready', labelled: { ready: 10 }, edit: act(9, 'mallory') },
      null,
    ],
    [
      'with a required label the state label is no approval, since agents can set it',
      { trust: 'anyone', stateLabel: 'Doing', labelled: { baton: 10, doing: 30 }, edit: act(20, 'mallory') },
      AFTER,
    ],
    ['it lacks a label and cannot start', { trust: 'anyone', labels: ['bug'], edit: act(11, 'mallory') }, null],
    ['the label has no event', { trust: 'anyone', labelled: {}, edit: act(1, 'mallory') }, AFTER],
    ['the label has no event, and there was no edit', { trust: 'anyone', labelled: {} }, null],
    [
      'it was edited between two labels: the later is the approval',
      {
        trust: 'anyone',
        labels: ['baton', 'go'],
        requiredLabels: ['baton', 'go'],
        labelled: { baton: 5, go: 20 },
        edit: act(10, 'mallory'),
      },
      null,
    ],
    [
      'it was edited after both labels',
      {
        trust: 'anyone',
        labels: ['baton', 'go'],
        requiredLabels: ['baton', 'go'],
        labelled: { baton: 5, go: 20 },
        edit: act(21, 'mallory'),
      },
      AFTER.replace('baton', 'go'),
    ],
    [
      'another label came later, which is no approval',
      { trust: 'anyone', labelled: { baton: 10, bug: 30 }, edit: act(20, 'mallory') },
      AFTER,
    ],
  ])('%s', (_what, issue, expected) => {
    expect(heldBack(issue)).toBe(expected);
  });
});

describe('a list of logins', () => {
  const trust = ['Ann', 'bob', 'ci[bot]'];
  test.each<[string, Case, string | null]>([
    ['no edit', { trust, author: 'ann' }, null],
    ['its author edited it', { trust, author: 'ann', edit: act(11, 'ANN') }, null],
    ['somebody else on the list edited it', { trust, author: 'ann', edit: act(11, 'bob') }, null],
    [
      'the last edit counts',
      { trust, author: 'ann', edit: [act(11, 'carol'), act(12, 'bob')], completeSince: 12 },
      null,
    ],
    ['a bot on the list edited it', { trust, author: 'ann', edit: act(11, 'ci[bot]') }, null],
    [
      'a person with the name of that bot edited it',
      { trust, author: 'ann', edit: act(11, 'ci') },
      'has a description that was last changed by ci, who is not trusted',
    ],
    [
      'a member who is not on it edited it',
      { trust, author: 'ann', edit: act(11, 'carol') },
      'has a description that was last changed by carol, who is not trusted',
    ],
    [
      'the edit was before the label',
      { trust, author: 'ann', edit: act(1, 'carol') },
      'has a description that was last changed by carol, who is not trusted',
    ],
    [
      'the edit was without any label',
      { trust, author: 'ann', requiredLabels: [], edit: act(1, 'carol') },
      'has a description that was last changed by carol, who is not trusted',
    ],
    [
      'a member who is not on it renamed it',
      { trust, author: 'ann', rename: act(11, 'carol') },
      'has a title that was last changed by carol, who is not trusted',
    ],
    [
      'a deleted account edited it',
      { trust, author: 'ann', edit: act(11, null) },
      'has a description that was last changed by somebody whose account is gone, who is not trusted',
    ],
    ['its author is not on it', { trust, author: 'mallory', edit: act(11, 'mallory') }, null],
    ['it lacks a label and cannot start', { trust, author: 'ann', labels: [], edit: act(11, 'carol') }, null],
  ])('%s', (_what, issue, expected) => {
    expect(heldBack(issue)).toBe(expected);
  });
});

test.each<[string, Case, boolean]>([
  ['members', { trust: 'members' }, false],
  ['anyone, a stranger, labelled', { trust: 'anyone' }, true],
  ['anyone, a member', { trust: 'anyone', isMember: true }, false],
  ['anyone, no label required', { trust: 'anyone', requiredLabels: [] }, false],
  ['anyone, a label makes its state', { trust: 'anyone', requiredLabels: [], stateLabel: 'Ready' }, true],
  ['anyone, not labelled', { trust: 'anyone', labels: [] }, false],
  ['a list, on it', { trust: ['mallory'] }, true],
  ['a list, not on it', { trust: ['ann'] }, false],
])('a history is read only where it can matter: %s', (_what, issue, expected) => {
  expect(needsHistory(issueOf(issue), rulesOf(issue))).toBe(expected);
});
