import { describe, expect, test } from 'vitest';
import type { Issue } from '../../src/domain/issue.js';
import { type Editors, type EditorsOrder, LastEditors } from '../../src/tracker/last-editors.js';
import { issue } from '../support/builders.js';

interface Person {
  readonly name: string;
}

const ANN: Person = { name: 'ann' };
const EVE: Person = { name: 'eve' };
const UNTOUCHED: Editors<Person> = { title: 'nobody', description: 'nobody' };

/** A tracker that knows who changed what, and how often it was asked. */
function told(editors: Readonly<Record<string, Editors<Person>>>, trusted: readonly Person[] = [ANN]) {
  const asked: string[][] = [];
  const order: EditorsOrder<Person> = {
    trust: 'members',
    requiredLabels: [],
    limit: 10,
    ask: async (issues) => {
      asked.push(issues.map(({ id }) => id));
      return new Map(Object.entries(editors));
    },
    judge: async () => (person) => trusted.includes(person),
    nameOf: ({ name }) => name,
  };
  return { asked, order };
}

const heldBack = (issues: readonly Issue[]) => issues.map(({ dispatchable, held_back }) => [dispatchable, held_back]);

describe('who had the last word', () => {
  test('as its author wrote it, or last changed by a member: it may start', async () => {
    const { order } = told({ A: UNTOUCHED, B: { title: ANN, description: ANN } });

    const issues = await new LastEditors<Person>().holdBack([issue('A'), issue('B')], order);

    expect(issues).toEqual([issue('A'), issue('B')]);
  });

  test.each([
    [{ title: EVE, description: 'nobody' }, 'has a title that was last changed by eve, who is no member'],
    [{ title: 'nobody', description: EVE }, 'has a description that was last changed by eve, who is no member'],
    [{ title: ANN, description: EVE }, 'has a description that was last changed by eve, who is no member'],
  ] as const)('a stranger of either part holds it back: %j', async (editors, why) => {
    const { order } = told({ A: editors });

    expect(heldBack(await new LastEditors<Person>().holdBack([issue('A')], order))).toEqual([[false, why]]);
  });

  test('whoever is not on a list is told as not trusted', async () => {
    const { order } = told({ A: { title: EVE, description: EVE } });

    const [held] = await new LastEditors<Person>().holdBack([issue('A')], { ...order, trust: ['ann'] });

    expect(held?.held_back).toBe('has a title that was last changed by eve, who is not trusted');
  });

  test('of whom nobody can tell is held back, and asked about again', async () => {
    const { order, asked } = told({});
    const editors = new LastEditors<Person>();

    await editors.holdBack([issue('A')], order);
    const issues = await editors.holdBack([issue('A')], order);

    expect(heldBack(issues)).toEqual([[false, expect.stringContaining('nobody knows who changed it')]]);
    expect(asked).toEqual([['A'], ['A']]);
  });
});

describe('what it costs', () => {
  test('one question for each text, whatever else changes', async () => {
    const { order, asked } = told({ A: UNTOUCHED });
    const editors = new LastEditors<Person>();

    await editors.holdBack([issue({ id: 'A', description: 'x' })], order);
    await editors.holdBack([issue({ id: 'A', description: 'x', updated_at: '2026-02-02T00:00:00.000Z' })], order);
    await editors.holdBack([issue({ id: 'A', description: 'y' })], order);

    expect(asked).toEqual([['A'], ['A']]);
  });

  test('nothing for what cannot start anyway', async () => {
    const { order, asked } = told({});
    const others = [
      issue({ id: 'A', dispatchable: false, held_back: 'is assigned to bob' }),
      issue({ id: 'B', author: { login: 'eve', trusted: false } }),
      issue({ id: 'C', labels: ['bug'] }),
    ];

    const issues = await new LastEditors<Person>().holdBack(others, { ...order, requiredLabels: [' Baton '] });

    expect(issues).toEqual(others);
    expect(asked).toEqual([]);
  });

  test('more than the limit wait for another poll, and get their turn', async () => {
    const { order, asked } = told({ A: UNTOUCHED, B: UNTOUCHED });
    const editors = new LastEditors<Person>();
    const both = [issue('A'), issue('B')];

    const first = await editors.holdBack(both, { ...order, limit: 1 });
    const second = await editors.holdBack(both, { ...order, limit: 1 });

    expect(heldBack(first)).toEqual([
      [true, null],
      [false, expect.stringContaining('at one of the next polls')],
    ]);
    expect(second).toEqual(both);
    expect(asked).toEqual([['A'], ['B']]);
  });
});

test('whom to trust is judged anew each time, without asking again', async () => {
  const { order, asked } = told({ A: { title: 'nobody', description: EVE } });
  const editors = new LastEditors<Person>();

  const before = await editors.holdBack([issue('A')], order);
  const after = await editors.holdBack([issue('A')], { ...order, judge: async () => () => true });

  expect([before, after].map(([one]) => one?.dispatchable)).toEqual([false, true]);
  expect(asked).toEqual([['A']]);
});
