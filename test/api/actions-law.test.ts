import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decide } from '../../orchestrator/decide.js';
import type { State } from '../../orchestrator/state.js';
import { type Action, decideAction } from '../../src/api/actions.js';
import type { Instant } from '../../src/domain/clock.js';
import type { OrchestratorEvent } from '../../src/domain/events.js';
import { history, play } from './random-core.js';

const ACTIONS: readonly Action[] = [
  { kind: 'stop' },
  { kind: 'retry' },
  { kind: 'message', text: 'mind the gap' },
  { kind: 'answer', request: { decision: 'accept' } },
  { kind: 'answer', request: { decision: 'decline' } },
  { kind: 'answer', request: { values: { f: 'this' } } },
];

const NAMES = ['A', 'B', 'C', 'D', 'E', 'F'];

/** What an event leads to that time alone would not have led to. */
function doesSomething(state: State, event: OrchestratorEvent, now: Instant): boolean {
  const done = decide(state, event, now);
  const idle = decide(state, { type: 'ticked' }, now);
  const isNote = done.effects.every(({ type }) => type === 'note');
  return JSON.stringify(done.state) !== JSON.stringify(idle.state) || (!isNote && done.effects.length > 0);
}

describe('what a person asks for', () => {
  test('is never dropped: when it is accepted, the core changes its state or orders something', () => {
    const accepted = new Map<string, number>();
    fc.assert(
      fc.property(history, (steps) => {
        play(steps, (core) => {
          // A person is never as quick as the event before.
          core.nowMs += 1;
          for (const name of NAMES)
            for (const action of ACTIONS) {
              const decided = decideAction(core.state, name, action);
              if (!('event' in decided)) continue;
              accepted.set(action.kind, (accepted.get(action.kind) ?? 0) + 1);
              expect(doesSomething(core.state, decided.event, core.now), `${action.kind} ${name}`).toBe(true);
            }
        });
      }),
      { numRuns: 120 },
    );

    expect([...accepted.keys()].sort()).toEqual(['answer', 'message', 'retry', 'stop']);
  });

  test('is refused otherwise, with a code and a sentence', () => {
    const refused = new Set<string>();
    fc.assert(
      fc.property(history, (steps) => {
        play(steps, ({ state }) => {
          for (const name of NAMES)
            for (const action of ACTIONS) {
              const decided = decideAction(state, name, action);
              if ('event' in decided) continue;
              refused.add(decided.code);
              expect(decided.message).toMatch(/^\S.*[.?]$/s);
            }
        });
      }),
      { numRuns: 60 },
    );

    expect([...refused]).toEqual(expect.arrayContaining(['already_running', 'being_stopped', 'not_running']));
  });
});
