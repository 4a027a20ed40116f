import { expect, test } from 'vitest';
import { loadContinuation } from '../../templates/prompts.js';
import { issue } from '../support/builders.js';

test('S2-48 continuation guidance names issue, state and turn, and repeats no issue text', () => {
  const text = loadContinuation().render({
    issue: issue({ identifier: 'AB-1', title: 'Fix it', state: 'In Progress', description: 'a long story' }),
    attempt: null,
    run: { id: 'r', number: 1, reason: 'first', workspace: '/ws' },
    workflow: { path: '/w/WORKFLOW.md', dir: '/w' },
    turn: 2,
    max_turns: 20,
  });

  expect(text).toContain('AB-1: Fix it');
  expect(text).toContain('"In Progress"');
  expect(text).toContain('turn 2 of at most 20');
  expect(text).not.toContain('a long story');
});
