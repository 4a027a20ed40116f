import { describe, expect, test } from 'vitest';
import type { Trust } from '../../../src/domain/config.js';
import { needsHistory, untrustedEdit } from '../../../src/tracker/github/trust.js';
import type { Edit, EditRules, TextPart } from '../../../src/tracker/untrusted-edit.js';

const CREATED = 0;
type Act = Omit<Edit, 'part'>;
const at = (seconds: number, by: string | null): Act => ({ by, atMs: CREATED + seconds * 1000 });

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

function verdict(told: Case): string | null {
  const { edit = [], rename = [], labelled = { baton: 10 }, completeSince = Number.NEGATIVE_INFINITY } = told;
  const labelledAtMs = new Map(Object.entries(labelled).map(([label, seconds]) => [label, CREATED + seconds * 1000]));
  const completeSinceMs = CREATED + completeSince * 1000;
  const editsOf = (part: TextPart, acts: Act | readonly Act[]) => [acts].flat().map((act) => ({ part, ...act }));
  const edits = [...editsOf('description', edit), ...editsOf('title', rename)].sort((a, b) => b.atMs - a.atMs);
  return untrustedEdit(issueOf(told), { edits, labelledAtMs, completeSinceMs }, rulesOf(told));
}

const AFTER = 'was changed by mallory, who is no member, after the label "baton" was put on it';

describe('anyone may write, a label says yes', () => {
  test.each<[string, Case, string | null]>([
    ['nobody changed it', { trust: 'anyone' }, null],
    ['its author edited it before', { trust: 'anyone', edit: at(9, 'mallory') }, null],
    ['its author edited it after', { trust: 'anyone', edit: at(11, 'mallory') }, AFTER],
    ['its author edited it in the same second', { trust: 'anyone', edit: at(10, 'mallory') }, AFTER],
    [
      'its author edited it after, spelled otherwise',
      { trust: 'anyone', edit: at(11, 'Mallory') },
      AFTER.replace('mallory', 'Mallory'),
    ],
    ['its author renamed it before', { trust: 'anyone', rename: at(9, 'mallory') }, null],
    ['its author renamed it after', { trust: 'anyone', rename: at(11, 'mallory') }, AFTER],
    ['somebody with write access edited it after', { trust: 'anyone', edit: at(11, 'ann') }, null],
    [
      'somebody with write access edited it, its author renamed it',
      { trust: 'anyone', edit: at(12, 'ann'), rename: at(11, 'mallory') },
      AFTER,
    ],
    [
      'its author edited it after, and then somebody with write access',
      { trust: 'anyone', edit: [at(11, 'mallory'), at(12, 'ann')] },
      AFTER,
    ],
    [
      'its author renamed it after, and then somebody with write access',
      { trust: 'anyone', rename: [at(11, 'mallory'), at(12, 'ann')] },
      AFTER,
    ],
    [
      'its author edited it before, and somebody with write access after',
      { trust: 'anyone', edit: [at(9, 'mallory'), at(12, 'ann')] },
      null,
    ],
    ['nothing is missing since before the label', { trust: 'anyone', edit: at(12, 'ann'), completeSince: 9 }, null],
    [
      'what happened right after the label is not told any more',
      { trust: 'anyone', edit: at(12, 'ann'), completeSince: 10 },
      'was changed so often that GitHub does not say who did so after the label "baton" was put on it',
    ],
    [
      'somebody unknown edited it after',
      { trust: 'anyone', edit: at(11, null) },
      AFTER.replace('mallory', 'somebody whose account is gone'),
    ],
    ['somebody unknown edited it before', { trust: 'anyone', edit: at(9, null) }, null],
    [
      'its author is gone, and whoever edited it after may be that',
      { trust: 'anyone', author: null, edit: at(11, 'eve') },
      AFTER.replace('mallory', 'eve'),
    ],
    [
      'a member wrote it and edited it after',
      { trust: 'anyone', author: 'ann', isMember: true, edit: at(11, 'ann') },
      null,
    ],
    ['no label is required', { trust: 'anyone', requiredLabels: [], edit: at(11, 'mallory') }, null],
    [
      'no label is required, and it was edited after the one that made its state',
      { trust: 'anyone', requiredLabels: [], stateLabel: 'Ready', labelled: { ready: 10 }, edit: at(11, 'mallory') },
      AFTER.replace('baton', 'Ready'),
    ],
    [
      'no label is required, and it was edited before the one that made its state',
      { trust: 'anyone', requiredLabels: [], stateLabel: 'Ready', labelled: { ready: 10 }, edit: at(9, 'mallory') },
      null,
    ],
    [
      'a label is required: that of its state, which an agent may have given it, is no yes',
      { trust: 'anyone', stateLabel: 'Doing', labelled: { baton: 10, doing: 30 }, edit: at(20, 'mallory') },
      AFTER,
    ],
    ['it lacks a label and cannot start', { trust: 'anyone', labels: ['bug'], edit: at(11, 'mallory') }, null],
    ['nobody was seen to put the label on', { trust: 'anyone', labelled: {}, edit: at(1, 'mallory') }, AFTER],
    ['nobody was seen to put the label on, and it was never edited', { trust: 'anyone', labelled: {} }, null],
    [
      'it was edited between two labels: the later is the yes',
      {
        trust: 'anyone',
        labels: ['baton', 'go'],
        requiredLabels: ['baton', 'go'],
        labelled: { baton: 5, go: 20 },
        edit: at(10, 'mallory'),
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
        edit: at(21, 'mallory'),
      },
      AFTER.replace('baton', 'go'),
    ],
    [
      'another label came later, which is no yes',
      { trust: 'anyone', labelled: { baton: 10, bug: 30 }, edit: at(20, 'mallory') },
      AFTER,
    ],
  ])('%s', (_what, told, expected) => {
    expect(verdict(told)).toBe(expected);
  });
});

describe('a list of logins', () => {
  const trust = ['Ann', 'bob', 'ci[bot]'];
  test.each<[string, Case, string | null]>([
    ['nobody changed it', { trust, author: 'ann' }, null],
    ['its author edited it', { trust, author: 'ann', edit: at(11, 'ANN') }, null],
    ['somebody else on the list edited it', { trust, author: 'ann', edit: at(11, 'bob') }, null],
    ['the last word counts', { trust, author: 'ann', edit: [at(11, 'carol'), at(12, 'bob')], completeSince: 12 }, null],
    ['a bot on the list edited it', { trust, author: 'ann', edit: at(11, 'ci[bot]') }, null],
    [
      'a person with the name of that bot edited it',
      { trust, author: 'ann', edit: at(11, 'ci') },
      'has a description that was last changed by ci, who is not trusted',
    ],
    [
      'a member who is not on it edited it',
      { trust, author: 'ann', edit: at(11, 'carol') },
      'has a description that was last changed by carol, who is not trusted',
    ],
    [
      'they did before the label',
      { trust, author: 'ann', edit: at(1, 'carol') },
      'has a description that was last changed by carol, who is not trusted',
    ],
    [
      'they did without any label',
      { trust, author: 'ann', requiredLabels: [], edit: at(1, 'carol') },
      'has a description that was last changed by carol, who is not trusted',
    ],
    [
      'a member who is not on it renamed it',
      { trust, author: 'ann', rename: at(11, 'carol') },
      'has a title that was last changed by carol, who is not trusted',
    ],
    [
      'somebody unknown edited it',
      { trust, author: 'ann', edit: at(11, null) },
      'has a description that was last changed by somebody whose account is gone, who is not trusted',
    ],
    ['its author is not on it, which says enough', { trust, author: 'mallory', edit: at(11, 'mallory') }, null],
    ['it lacks a label and cannot start', { trust, author: 'ann', labels: [], edit: at(11, 'carol') }, null],
  ])('%s', (_what, told, expected) => {
    expect(verdict(told)).toBe(expected);
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
])('the history is read only where it can matter: %s', (_what, told, expected) => {
  expect(needsHistory(issueOf(told), rulesOf(told))).toBe(expected);
});
