import { describe, expect, test } from 'vitest';
import { choiceKey, Drafts, draftOf, OTHER, textKey, valuesOf } from '../../../src/page/model/answer-draft.js';
import { heldOrder } from '../../../src/page/model/lists.js';
import { cardsAfter, needsOf } from '../../../src/page/model/question-cards.js';
import { INPUT, workingDay } from '../sample-state.js';

describe('while the pointer is on a list', () => {
  test('shown entries keep their places, and new ones are appended', () => {
    expect(heldOrder(['new', 'c', 'a', 'newer', 'b'], ['a', 'b', 'c', 'gone'], String)).toEqual([
      'a',
      'b',
      'c',
      'new',
      'newer',
    ]);
  });
});

describe('question cards', () => {
  const needs = needsOf(workingDay());
  const [first, second] = needs;
  if (!first || !second) throw new Error('two are needed');
  const ids = (cards: ReturnType<typeof cardsAfter>) =>
    cards.map(({ question, isOpen }) => `${question.id}${isOpen ? '' : ' closed'}`);
  const never = () => false;

  test('keep their places under pointer or focus, and close without disappearing', () => {
    const shown = cardsAfter([], needs, false, never);

    expect(ids(shown)).toEqual(['question-approval', 'question-input']);
    expect(ids(cardsAfter(shown, [second], true, never))).toEqual(['question-approval closed', 'question-input']);
    expect(ids(cardsAfter(shown, [second], false, never))).toEqual(['question-input']);
  });

  test('a new question is appended', () => {
    const shown = cardsAfter([], [second], false, never);

    expect(ids(cardsAfter(shown, needs, true, never))).toEqual(['question-input', 'question-approval']);
    expect(ids(cardsAfter(shown, needs, false, never))).toEqual(['question-approval', 'question-input']);
  });

  test('a card with a draft always stays', () => {
    const shown = cardsAfter([], needs, false, never);

    expect(ids(cardsAfter(shown, [], false, ({ id }) => id === INPUT.id))).toEqual(['question-input closed']);
  });

  test('a question of a run keeps its open card when the run is parked', () => {
    const shown = cardsAfter([], [first], true, never);
    const parked = { ...first, run: null };

    expect(ids(cardsAfter(shown, [parked], true, never))).toEqual(['question-approval']);
  });
});

describe('drafts', () => {
  const [field] = INPUT.fields;
  if (!field) throw new Error('no field');

  test('are a choice, free text, or nothing', () => {
    const drafts = new Drafts();
    expect(valuesOf(INPUT, drafts)).toEqual({ keep: '' });

    drafts.set(choiceKey(INPUT, field), '1');
    expect(valuesOf(INPUT, drafts)).toEqual({ keep: '90 days' });
    drafts.set(choiceKey(INPUT, field), OTHER);
    drafts.set(textKey(INPUT, field), '  a year ');
    expect(valuesOf(INPUT, drafts)).toEqual({ keep: 'a year' });
  });

  test('are dropped for one question only', () => {
    const drafts = new Drafts();
    drafts.set(textKey(INPUT, field), 'x');
    drafts.set(textKey({ ...INPUT, id: 'other' }, field), 'y');

    drafts.drop(draftOf(INPUT));

    expect(drafts.has(draftOf(INPUT))).toBe(false);
    expect(drafts.get(textKey({ ...INPUT, id: 'other' }, field))).toBe('y');
  });

  test('a deleted text is no draft', () => {
    const drafts = new Drafts();
    drafts.set('a/b', 'x');

    drafts.set('a/b', '');

    expect(drafts.has('a/')).toBe(false);
  });
});
