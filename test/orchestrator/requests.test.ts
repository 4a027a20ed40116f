import { describe, expect, test } from 'vitest';
import type { Effect } from '../../src/domain/effects.js';
import { Core, ofType } from '../support/core.js';

const notes = (effects: readonly Effect[]) => ofType(effects, 'note').map(({ note }) => note.message);

function running(): Core {
  const core = new Core().put('A');
  core.poll();
  return core;
}

describe('a message', () => {
  test('goes to the run of its issue', () => {
    expect(running().send({ type: 'message_given', issueId: 'A', text: 'hurry' })).toEqual([
      { type: 'steer_run', runId: 'test-1', text: 'hurry' },
    ]);
  });

  test.each<[string, (core: Core) => void]>([
    ['that is being stopped', (core) => core.send({ type: 'stop_requested', issueId: 'A' })],
    ['that is over', (core) => core.fail('A')],
    ['whose processes outlive SIGKILL', (core) => core.send({ type: 'run_unkillable', runId: core.runId('A') })],
  ])('to a run %s reaches nobody, and the log says so', (_, arrange) => {
    const core = running();
    arrange(core);

    const effects = core.send({ type: 'message_given', issueId: 'A', text: 'hurry' });

    expect(ofType(effects, 'steer_run')).toEqual([]);
    expect(notes(effects)).toEqual(['request refused']);
  });

  test('to a run whose claim is not stored yet is not delivered, and the log says so', () => {
    const core = new Core().put('A');
    core.confirmsWrites = false;
    core.poll();

    expect(notes(core.send({ type: 'message_given', issueId: 'A', text: 'hurry' }))).toHaveLength(1);
  });
});

describe('an answer', () => {
  test('to an unknown question changes nothing, and the log says so', () => {
    const core = running();
    core.fail('A', 'turn_input_required', { question: { id: 'q', kind: 'approval', text: '?', fields: [] } });

    const effects = core.send({ type: 'answer_given', issueId: 'A', questionId: 'old', answer: { kind: 'accept' } });

    expect(notes(effects)).toEqual(['request refused']);
    expect(core.standing('A')).toBe('parked: input_required');
  });
});
