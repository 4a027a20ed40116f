import { describe, expect, test } from 'vitest';
import { filterState, groupByRule, issueCount } from '../../../src/page/model/lists.js';
import { noticesOf } from '../../../src/page/model/notices.js';
import { introOf, needsOf, pageTitle } from '../../../src/page/model/question-cards.js';
import { headlineOf, standingKey, standingWords, withLive } from '../../../src/page/model/words.js';
import { blockedIssue, runningIssue } from '../sample-issue.js';
import { emptyState, INPUT, readyEntry, runningEntry, stateWith, workingDay } from '../sample-state.js';

describe('the sentence at the top', () => {
  test('is the idle reason when nothing happens', () => {
    expect(headlineOf(emptyState())).toMatch(/^No issue of the tracker is in an active state/);
  });

  test('counts issues that need a person and running issues', () => {
    expect(headlineOf(workingDay())).toBe('2 issues need you; 3 others are running.');
    expect(headlineOf(stateWith({ running: [runningEntry('A', 'a')] }))).toBe('One issue is running.');
    expect(headlineOf(stateWith({ asking: workingDay().asking }))).toBe('1 issue needs you.');
    expect(headlineOf(stateWith({ ready: [readyEntry('A-1', 'a', { why: null })] }))).toBe('A-1 is about to start.');
    expect(headlineOf(stateWith({ shutting_down: true }))).toMatch(/shutting down/);
  });
});

describe('issues that need a person', () => {
  test('are every open question: of runs first, because they time out, then of parked issues', () => {
    const needs = needsOf(workingDay());

    expect(needs.map(({ issue, run }) => [issue.issue_identifier, run?.onTimeout ?? null])).toEqual([
      ['SHOP-218', 'park'],
      ['SHOP-197', null],
    ]);
  });

  test('the longest wait comes first, and an asking issue is listed once', () => {
    const { asking } = workingDay();
    const [one] = asking;
    if (!one) throw new Error('nobody asks');
    const later = { ...one, issue_id: 'later', issue_identifier: 'LATER', asked_at: new Date().toISOString() };
    const parked = { ...workingDay().parked[0], issue_id: 'later', question: INPUT } as (typeof state.parked)[number];
    const state = stateWith({ asking: [later, one], parked: [parked] });

    expect(needsOf(state).map(({ issue }) => issue.issue_identifier)).toEqual(['SHOP-218', 'LATER']);
  });

  test('are counted in the title of the tab', () => {
    expect([pageTitle(0, null), pageTitle(2, null), pageTitle(2, 'A-1')]).toEqual([
      'Baton',
      '(2) Baton',
      '(2) A-1 · Baton',
    ]);
  });

  test('labels of fields are not repeated', () => {
    expect(introOf(INPUT)).toBe('Retention');
  });
});

describe('notices', () => {
  test('are empty without a problem', () => {
    expect(noticesOf(workingDay())).toEqual([]);
  });

  test('distinguish an unreadable tracker from an empty board', () => {
    const { poll } = emptyState();
    const state = stateWith({ poll: { ...poll, health: 'failed', error: 'refused', failing_since: 'x' } });

    expect(noticesOf(state)).toMatchObject([{ id: 'poll', title: 'The tracker cannot be read', text: 'refused' }]);
  });

  test('a hold has its action, and a hold of the tracker is shown once', () => {
    const { poll } = emptyState();
    const hold = {
      source: 'tracker',
      code: 'tracker_auth',
      message: 'm',
      action: 'a',
      since: null,
      until: 'u',
      tries: 1,
    };
    const state = stateWith({ holds: [hold], poll: { ...poll, health: 'failed' } });

    expect(noticesOf(state)).toMatchObject([{ id: 'hold-tracker', action: 'a', next: { label: 'next try', at: 'u' } }]);
  });

  test('a pause, a faulty workflow, a needed restart and unreadable issues have notices', () => {
    const { poll, workflow } = emptyState();
    const state = stateWith({
      paused: { since: null },
      poll: { ...poll, problems: ['x'] },
      workflow: { ...workflow, error: { code: 'c', message: 'm', problems: [] }, restart_required: ['server.port'] },
    });

    expect(noticesOf(state).map(({ id }) => id)).toEqual(['paused', 'workflow', 'restart', 'problems']);
  });

  test.each([false, true])(
    'SEC-30 changes that wait to be allowed have their diff and the command (cut: %s)',
    (is_cut) => {
      const { workflow } = emptyState();
      const held = { hash: 'h', since: 's', changes: ['hooks.before_run changed'], diff: '+evil', is_cut };

      const [notice] = noticesOf(stateWith({ workflow: { ...workflow, path: '/my repo/WORKFLOW.md', held } }));

      expect(notice).toMatchObject({ id: 'held', text: 'hooks.before_run changed', since: 's' });
      expect(notice?.action).toContain("baton allow '/my repo/WORKFLOW.md'");
      expect(notice?.diff).toBe(is_cut ? '+evil\n… the rest is left out here' : '+evil');
    },
  );
});

describe('the filter', () => {
  test('finds by every word, in identifier, title, state or reason', () => {
    const day = workingDay();

    expect(filterState(day, 'shop invoice').ready.map(({ issue_identifier: name }) => name)).toEqual(['SHOP-236']);
    expect(filterState(day, 'LACKS label').ineligible).toHaveLength(2);
    expect(filterState(day, 'stall').retrying).toHaveLength(1);
    expect(issueCount(filterState(day, 'no such thing'))).toBe(0);
  });

  test('without a query nothing changes', () => {
    const day = workingDay();

    expect(filterState(day, '  ')).toBe(day);
  });

  test('an issue in two lists is one issue', () => {
    expect(issueCount(workingDay())).toBe(17);
  });
});

describe('the status of an issue', () => {
  test('growing counters do not reload the details; a new question does', () => {
    const day = workingDay();
    const busier = { ...day, running: day.running.map((entry) => ({ ...entry, turn_count: 9, last_message: 'x' })) };

    expect(standingKey(busier, 'SHOP-231')).toBe(standingKey(day, 'SHOP-231'));
    expect(standingKey({ ...day, asking: [] }, 'SHOP-218')).not.toBe(standingKey(day, 'SHOP-218'));
    expect(standingKey({ ...day, asking: [] }, 'SHOP-231')).toBe(standingKey(day, 'SHOP-231'));
  });

  test('the live state wins over older details', () => {
    const day = workingDay();
    const issue = runningIssue(day);
    const [parked] = day.parked;
    if (!parked) throw new Error('nobody is parked');
    const state = stateWith({ parked: [{ ...parked, issue_id: issue.issue_id }] });

    expect(withLive(issue, state)).toMatchObject({
      status: 'parked',
      running: null,
      parked: { reason: 'input_required' },
    });
    expect(withLive(issue, null)).toBe(issue);
  });

  test('is one sentence for every status', () => {
    const day = workingDay();
    const issue = runningIssue(day);
    const [retrying] = day.retrying;
    const [parked] = day.parked;
    const [done] = day.done;
    if (!retrying || !parked || !done) throw new Error('the day is not complete');

    expect(standingWords(issue)).toBe('Run 2 is active.');
    expect(standingWords({ ...issue, status: 'asking' })).toBe('Its run waits for your answer.');
    expect(standingWords({ ...issue, status: 'retrying', retrying })).toMatch(
      /^It retries at \S+Z, after: The agent made no/,
    );
    const slotless = { ...retrying, due: true, error: 'no available orchestrator slots', error_code: 'no_slot' };
    expect(standingWords({ ...issue, status: 'retrying', retrying: slotless })).toBe(
      'It is due and waits for a free slot; agent.max_concurrent_agents is the limit.',
    );
    expect(standingWords({ ...issue, status: 'parked', parked })).toBe(
      'Parked: needs an answer. It continues with your answer.',
    );
    expect(standingWords({ ...issue, status: 'ready', why_not_started: 'no free slot' })).toBe(
      'It is in line: no free slot.',
    );
    expect(standingWords(blockedIssue(day))).toBe('It is not picked up: it waits for SHOP-236 (To Do).');
    expect(standingWords({ ...issue, status: 'done', done })).toMatch(
      /^Done \(Done\) at \S+Z, after 2 runs and 412k tokens\.$/,
    );
    expect(standingWords({ ...issue, status: 'past' })).toMatch(/earlier runs/);
  });
});

test('ineligible issues are counted by their first failed rule, the most frequent first', () => {
  expect(groupByRule(workingDay().ineligible)).toEqual([
    { rule: 'required_labels', count: 2 },
    { rule: 'not_blocked', count: 1 },
  ]);
});
