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
const resume = (threadId: string) => ({ threadId, answer: null });

describe('a plan with one agent step', () => {
  const one = plan(step('plan'), step('work', { action: agent }));

  test('names threads as the agent does', () => {
    expect(new StepThreads(one, null).tag('work', session('abc'))).toEqual(session('abc'));
  });

  test('goes on with a thread once', () => {
    const threads = new StepThreads(one, resume('abc'));

    expect(threads.resumeFor('work')).toEqual(resume('abc'));
    expect(threads.resumeFor('work')).toBeNull();
  });
});

describe('a plan with several agent steps', () => {
  const two = plan(step('work', { action: agent }), loop([step('review', { action: agent })]));

  test('a thread finds its step again', () => {
    const told = new StepThreads(two, null).tag('review', session('abc'));
    const threads = new StepThreads(two, resume(told.type === 'session' ? told.threadId : ''));

    expect(threads.resumeFor('work')).toBeNull();
    expect(threads.resumeFor('review')).toEqual(resume('abc'));
  });

  test('tokens are counted under the same name', () => {
    const usage = { type: 'usage', threadId: 'abc', totals: { input: 1, cached: 0, output: 1 } } as const;

    expect(new StepThreads(two, null).tag('review', usage)).toMatchObject({ threadId: 'review#abc' });
  });

  test('a thread whose step is gone goes to the first agent, with the answer that it may hold', () => {
    expect(new StepThreads(two, resume('gone#abc')).resumeFor('work')).toEqual(resume('abc'));
    expect(new StepThreads(two, resume('abc')).resumeFor('work')).toEqual(resume('abc'));
  });

  test('turns are counted on from step to step', () => {
    const threads = new StepThreads(two, null);
    threads.resumeFor('work');
    threads.tag('work', session('a', 1));
    threads.tag('work', session('a', 2));
    threads.resumeFor('review');

    expect(threads.tag('review', session('b', 1))).toMatchObject({ turn: 3 });
    expect(threads.turns).toBe(3);
  });
});
