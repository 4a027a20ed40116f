import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decide } from '../../orchestrator/decide.js';
import type { State } from '../../orchestrator/state.js';
import { explainRules } from '../../src/api/explain.js';
import type { Instant } from '../../src/domain/clock.js';
import type { Issue } from '../../src/domain/issue.js';
import { ofType } from '../support/core.js';
import { history, play } from './random-core.js';

function issuesOf({ claims, candidates }: State): Issue[] {
  return [...Object.values(claims).map(({ issue }) => issue), ...Object.values(candidates)];
}

/** Issues that are not running, and that nothing keeps. */
function free(state: State, now: Instant): string[] {
  return issuesOf(state)
    .filter((issue) => state.claims[issue.id]?.status.kind !== 'running')
    .filter((issue) => explainRules(state, now, issue, state.claims[issue.id] ?? null).every(({ pass }) => pass))
    .map(({ id }) => id)
    .sort();
}

/** Looks, has the tracker say that everything is as it is known, and answers who was claimed for a run. */
function startedBy(state: State, now: Instant): string[] {
  const looked = decide(state, { type: 'ticked' }, now);
  const [read] = ofType(looked.effects, 'read_issues');
  if (!read) return [];
  const issues = issuesOf(looked.state).filter(({ id }) => read.ids.includes(id));
  const result = { ok: true, issues, unknown: [] } as const;
  const answered = decide(looked.state, { type: 'issues_read', seq: read.seq, asked: read.ids, result }, now);
  const before = Object.values(state.runs);
  return Object.values(answered.state.runs)
    .filter((id) => !before.includes(id))
    .sort();
}

/** Nothing where it passes; else a sentence without its full stop. */
function isTelling(text: string | null, pass: boolean): boolean {
  return pass ? text === null : /^\S.*[^.\s]$/s.test(text ?? '');
}

describe('explain and the core', () => {
  test('agree: with nothing being read, an issue is started from the next reading if and only if no rule fails', () => {
    let started = 0;
    fc.assert(
      fc.property(history, (steps) => {
        play(steps, ({ state, now }) => {
          const atRest = { ...state, read: null };

          expect(free(atRest, now)).toEqual(startedBy(atRest, now));
          started += free(atRest, now).length;
        });
      }),
      { numRuns: 300 },
    );

    expect(started, 'the histories are worth something').toBeGreaterThan(100);
  });

  test('agree: once the core has looked, every issue that does not run has a rule that fails', () => {
    fc.assert(
      fc.property(history, (steps) => {
        play(steps, ({ state, now }) => expect(free(state, now)).toEqual([]));
      }),
      { numRuns: 100 },
    );
  });

  test('every rule is listed once, and a failed rule has a reason and an action', () => {
    fc.assert(
      fc.property(history, (steps) => {
        play(steps, ({ state, now }) => {
          const tellings = issuesOf(state).map((issue) =>
            explainRules(state, now, issue, state.claims[issue.id] ?? null),
          );

          for (const rules of tellings) {
            const names = rules.map(({ rule }) => rule);
            expect(names).toEqual(tellings[0]?.map(({ rule }) => rule));
            expect(names).toEqual([...new Set(names)]);
            for (const { pass, why, action } of rules)
              expect([why, action].every((text) => isTelling(text, pass))).toBe(true);
          }
        });
      }),
      { numRuns: 40 },
    );
  });
});
