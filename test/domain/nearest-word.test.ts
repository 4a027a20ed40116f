import { describe, expect, test } from 'vitest';
import { nearestWord } from '../../src/domain/nearest-word.js';

describe('the nearest word', () => {
  test.each<[string, string[], string | null]>([
    ['TSAK-12', ['TASK-1', 'TASK-12'], 'TASK-12'],
    ['task_12', ['TASK-12'], 'TASK-12'],
    ['maxTurn', ['max_turns'], 'max_turns'],
    ['stattus', ['status', 'stop'], 'status'],
    ['elsewhere', ['status'], null],
  ])('to %j, among %j, is %j', (word, candidates, expected) => {
    expect(nearestWord(word, candidates)).toBe(expected);
  });

  test.each(['TASK-99', 'TASK-12', 'TASK-', 'task-2'])('never differs from %j only in digits', (word) => {
    expect(nearestWord(word, ['TASK-1'])).toBeNull();
  });
});
