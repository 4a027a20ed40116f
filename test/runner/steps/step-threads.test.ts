import { describe, expect, test } from 'vitest';
import { StepThreads } from '../../../runner/steps/step-threads.js';
import type { Action, Plan, Step } from '../../../src/domain/steps/plan.js';
import { IMPLIED_PLAN } from '../../support/builders.js';
import { loop, step } from './step-fixture.js';

const agent: Action = {
  ...{ kind: 'agent', backend: 'cli', maxTurns: 1, session: null },
  prompt: { text: '', startLine: 1, file: '' },
};
const plan = (...steps: Step[]): Plan => ({ ...IMPLIED_PLAN, isImplied: false, steps });
const session = (threadId: string, turn = 1) => ({ type: 'session', threadId, turnId: 't', turn }) as const;
const usage = { type: 'usage', threadId: 'abc', totals: { input: 1, cached: 0, output: 1 } } as const;
const resume = (threadId: string) => ({ threadId, answer: null });

describe('a plan with one agent step', () => {
  const one = plan(step('plan'), step('work', { action: agent }));

  test('names threads as the agent does', () => {
    expect(new StepThreads(one, null).translate('work', session('abc'))).toEqual([session('abc')]);
  });

  test('resumes a thread once', () => {
    const threads = new StepThreads(one, resume('abc'));

    expect(threads.resumeFor('work')).toEqual(resume('abc'));
    expect(threads.resumeFor('work')).toBeNull();
  });
});

test('tokens of all threads are summed up, each by its last total', () => {
  const threads = new StepThreads(plan(step('a', { action: agent }), step('b', { action: agent })), null);
  const usage = (threadId: string, input: number) =>
    ({ type: 'usage', threadId, totals: { input, cached: 1, output: 2 } }) as const;

  threads.translate('a', usage('t1', 10));
  threads.translate('a', usage('t1', 30));
  threads.translate('b', usage('t2', 5));

  expect(threads.usage).toEqual({ input: 35, cached: 2, output: 4 });
});

describe('a plan with several agent steps', () => {
  const two = plan(step('work', { action: agent }), loop([step('review', { action: agent })]));

  test('a thread finds its step again', () => {
    const [told] = new StepThreads(two, null).translate('review', session('abc'));
    const threads = new StepThreads(two, resume(told?.type === 'session' ? told.threadId : ''));

    expect(threads.resumeFor('work')).toBeNull();
    expect(threads.resumeFor('review')).toEqual(resume('abc'));
  });

  test('tokens are counted under the same name', () => {
    expect(new StepThreads(two, null).translate('review', usage)).toMatchObject([{ threadId: 'review#abc' }]);
  });

  test('a thread whose step was removed goes to the first agent, with its pending answer', () => {
    expect(new StepThreads(two, resume('gone#abc')).resumeFor('work')).toEqual(resume('abc'));
    expect(new StepThreads(two, resume('abc')).resumeFor('work')).toEqual(resume('abc'));
  });

  test('turns are counted across steps', () => {
    const threads = new StepThreads(two, null);
    threads.resumeFor('work');
    threads.translate('work', session('a', 1));
    threads.translate('work', session('a', 2));
    threads.resumeFor('review');

    expect(threads.translate('review', session('b', 1))).toMatchObject([{ turn: 3 }]);
    expect(threads.turns).toBe(3);
  });

  test('a resumed thread keeps its name in the token totals, even when the steps have changed', () => {
    const named = (name: string) => {
      const threads = new StepThreads(two, resume(name));
      threads.resumeFor('work');
      return threads.translate('work', usage);
    };

    expect(named('abc')).toMatchObject([{ threadId: 'abc' }]);
    expect(named('gone#abc')).toMatchObject([{ threadId: 'gone#abc' }]);
  });
});

describe('the answer of a person to a later step', () => {
  const two = plan(step('work', { action: agent }), step('review', { action: agent }));
  const question = { id: 'q', kind: 'approval', text: 'May I?', fields: [] } as const;
  const answered = { threadId: 'review#abc', answer: { question, answer: { kind: 'accept' } } } as const;

  test('is not used by earlier steps: until it is used, the run has no other thread', () => {
    const threads = new StepThreads(two, answered);
    expect(threads.resumeFor('work')).toBeNull();

    expect(threads.translate('work', session('new'))).toEqual([]);
    expect(threads.translate('work', { ...usage, threadId: 'new' })).toMatchObject([{ threadId: 'work#new' }]);
    expect(threads.resumeFor('review')).toEqual({ ...answered, threadId: 'abc' });

    expect(threads.translate('review', session('abc'))).toMatchObject([{ threadId: 'review#abc', turn: 2 }]);
  });

  test('gives way to a new question of an earlier step, which is known by its thread', () => {
    const threads = new StepThreads(two, answered);
    threads.resumeFor('work');
    threads.translate('work', session('new'));

    expect(threads.translate('work', { type: 'asked', question })).toMatchObject([
      { type: 'session', threadId: 'work#new' },
      { type: 'asked' },
    ]);
  });
});
