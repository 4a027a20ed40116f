import { describe, expect, test } from 'vitest';
import { failedRules, isEligible, RULES } from '../../orchestrator/eligibility.js';
import type { State } from '../../orchestrator/state.js';
import type { Issue } from '../../src/domain/issue.js';
import { ruleAction, ruleWhy } from '../../src/text/rules.js';
import { issue } from '../support/builders.js';
import { Core, started } from '../support/core.js';

/** An issue that breaks exactly one rule, in a state that allows everything else. */
const FLAWS: {
  readonly [rule: string]: { readonly flaw?: Partial<Issue>; readonly state?: Partial<State>; readonly why: string };
} = {
  complete: { flaw: { title: '' }, why: 'id, identifier, title or state is empty' },
  not_terminal: { flaw: { state: 'DONE ' }, why: 'its state "DONE " is terminal' },
  active_state: { flaw: { state: 'Backlog' }, why: '"Backlog" is not among "Todo", "Done"' },
  dispatchable: { flaw: { dispatchable: false }, why: 'does not assign it to this daemon' },
  not_blocked: { flaw: { blocked_by: [{ id: '7', identifier: 'AB-7', state: 'Todo' }] }, why: 'waits for AB-7 (Todo)' },
  blockers_at_rest: {
    flaw: { blocked_by: [{ id: 'B', identifier: 'AB-7', state: 'Done' }] },
    state: { claims: { B: { status: { kind: 'running' } } as never } },
    why: 'waits for the run of AB-7 (Done) to end',
  },
  trusted_author: { flaw: { author: { login: 'eve', trusted: false } }, why: 'eve is not trusted' },
  required_labels: { flaw: { labels: ['other'] }, why: 'lacks the label "baton"' },
  not_claimed: { state: { claims: { A: {} as never } }, why: 'claimed already' },
  not_being_removed: { state: { removals: { A: 'A' } }, why: 'being removed' },
  budget_left: {
    state: { records: { A: { runs: 1, tokens: 20_000_000, budgetFrom: 0, threads: [] } } },
    why: 'token budget is spent',
  },
};

// `Done` is active and terminal: terminal wins.
const core = () => new Core({ tracker: { activeStates: ['Todo', 'Done'], requiredLabels: ['baton'] } });

describe('eligibility', () => {
  test('a blocker may be named like an inherited property', () => {
    const blocked_by = [{ id: 'constructor', identifier: 'constructor', state: 'Done' }];
    const one = core().put({ id: 'A', labels: ['baton'], blocked_by });

    expect(started(one.poll())).toEqual(['A']);
  });

  test('every rule has a test case', () => {
    expect(RULES.map((rule) => rule.name)).toEqual(Object.keys(FLAWS));
  });

  test.each(Object.entries(FLAWS))(
    '%s alone keeps an issue from starting, and says why',
    (name, { flaw, state, why }) => {
      const candidate = issue({ id: 'A', labels: ['baton'], ...flaw });
      const whole: State = { ...core().state, ...state };

      const broken = RULES.filter((rule) => !rule.passes(candidate, whole));

      expect(isEligible(issue({ id: 'A', labels: ['baton'] }), core().state)).toBe(true);
      expect(isEligible(candidate, whole)).toBe(false);
      expect(broken.map((rule) => rule.name)).toEqual([name]);
      expect(failedRules(candidate, whole).map(ruleWhy).join()).toContain(why);
    },
  );

  test.each(['identifier', 'title', 'state'] as const)('an issue with a blank %s is not started', (field) => {
    const board = core().put({ id: 'A', labels: ['baton'] });
    board.tick();

    const issues = [{ ...issue({ id: 'A', labels: ['baton'] }), [field]: ' ' }];

    expect(started(board.answerPoll({ candidates: { ok: true, issues, unknown: [] } }))).toEqual([]);
  });

  test('a blocked issue names its blocker', () => {
    const blocked = issue({
      blocked_by: [
        { id: '7', identifier: 'AB-7', state: 'Todo' },
        { id: '8', identifier: 'AB-8', state: 'done' },
        { id: '9', identifier: null, state: null },
      ],
    });
    const failed = failedRules(blocked, core().state).find(({ rule }) => rule === 'not_blocked');

    expect(failed && ruleWhy(failed)).toBe('it waits for AB-7 (Todo), 9 (not found)');
  });

  test('SEC-9a an issue that the tracker holds back says why', () => {
    const held = issue({ dispatchable: false, held_back: 'was last edited by eve, who is not trusted' });
    const failed = failedRules(held, core().state).find(({ rule }) => rule === 'dispatchable');

    expect(failed && ruleWhy(failed)).toBe('it was last edited by eve, who is not trusted');
    expect(failed && ruleAction(failed)).toContain('who changed it');
  });

  test('an issue whose blockers are all finished is eligible', () => {
    const board = core().put({
      id: 'A',
      labels: ['baton'],
      blocked_by: [{ id: '8', identifier: 'AB-8', state: 'Done' }],
    });

    board.tick();

    expect(started(board.answerPoll())).toEqual(['A']);
  });
});
