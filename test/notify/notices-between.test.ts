import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { restore } from '../../orchestrator/restore.js';
import { initialState, type State } from '../../orchestrator/state.js';
import type { Question } from '../../src/domain/run-signal.js';
import type { Notice } from '../../src/notify/notice.js';
import { noticesBetween } from '../../src/notify/notices-between.js';
import { Core } from '../support/core.js';

const question = (id: string): Question => ({ id, kind: 'approval', text: `May I ${id}?`, fields: [] });

/** The notices that `act` causes. */
function told(core: Core, act: () => unknown): Notice[] {
  const before = core.state;
  act();
  return noticesBetween(before, core.state, core.now.wallMs);
}

function running(...ids: string[]): Core {
  const core = new Core({ agent: { maxAttempts: 2 } }).put(...ids);
  core.poll();
  return core;
}

function restarted(state: State, core: Core): State {
  const { claims, records, holds, pausedSinceMs, ledger, finished } = state;
  const fresh = initialState(state.config, 'hash-1', 'second', core.now.wallMs);
  return restore(fresh, { claims, records, holds, pausedSinceMs, ledger, finished }, core.now.wallMs);
}

describe('asking', () => {
  test('each question of a run is one notice, and its answer causes none', () => {
    const core = running('A');

    const first = told(core, () => core.signal('A', { type: 'asked', question: question('q1') }));
    const second = told(core, () => core.signal('A', { type: 'asked', question: question('q2') }));
    const closed = told(core, () => core.signal('A', { type: 'question_closed', questionId: 'q1' }));

    expect(first).toMatchObject([{ kind: 'asking', issue: { identifier: 'A' }, question: { id: 'q1' } }]);
    expect(second).toMatchObject([{ kind: 'asking', question: { id: 'q2' } }]);
    expect(closed).toEqual([]);
  });

  test('a question without an answer is sent once more, as parked', () => {
    const core = running('A');
    core.signal('A', { type: 'session', threadId: 't', turnId: 'u', turn: 1 });
    core.signal('A', { type: 'asked', question: question('q1') });

    const parked = told(core, () => {
      core.advance(600_000);
      core.fail('A', 'turn_input_required', { question: question('q1') });
    });
    const later = told(core, () => core.poll());

    expect(parked).toMatchObject([{ kind: 'parked', reason: 'input_required', question: { id: 'q1' } }]);
    expect(later).toEqual([]);
  });
});

describe('parked', () => {
  test('a claim that is parked is a notice with reason and message; a waiting retry is not', () => {
    const core = running('A');

    const waits = told(core, () => core.fail('A'));
    const parks = told(core, () => {
      core.advance(20_000);
      core.poll();
      core.answerReads();
      core.fail('A');
    });

    expect(waits).toEqual([]);
    expect(parks).toMatchObject([{ kind: 'parked', reason: 'too_many_failures', question: null }]);
    expect(parks[0]).toHaveProperty('message', expect.stringContaining('because of turn_failed'));
  });

  test('stopping a parked issue causes no notice', () => {
    const core = running('A');
    core.fail('A', 'turn_input_required', { question: question('q1') });

    const stopped = told(core, () => core.send({ type: 'stop_requested', issueId: 'A' }));

    expect(core.standing('A')).toBe('parked: stopped_by_operator');
    expect(stopped).toEqual([]);
  });
});

describe('hold', () => {
  test('its begin and its end are notices; a probe that fails again is not', () => {
    const core = running('A');

    const begun = told(core, () => core.fail('A', 'agent_unauthorized'));
    const probed = told(core, () => {
      core.advance(60_000);
      core.poll();
      core.answerReads();
      core.fail('A', 'agent_unauthorized');
    });
    const over = told(core, () => {
      core.advance(600_000);
      core.poll();
      core.answerReads();
      core.exit('A');
    });

    expect(begun).toMatchObject([
      { kind: 'hold', event: 'begun', source: 'agent', hold: { code: 'agent_unauthorized' } },
    ]);
    expect(core.state.holds).toEqual({});
    expect(probed).toEqual([]);
    expect(over).toMatchObject([{ kind: 'hold', event: 'over', hold: { code: 'agent_unauthorized' } }]);
  });

  test('another code of the same source is another notice', () => {
    const core = running('A', 'B');
    core.fail('A', 'agent_unauthorized');

    const changed = told(core, () => core.fail('B', 'codex_not_found'));

    expect(changed).toMatchObject([{ kind: 'hold', event: 'begun', hold: { code: 'codex_not_found' } }]);
  });
});

describe('done', () => {
  test.each([
    ['Done', true],
    ['Review', false],
  ])('an issue that leaves for %s causes one notice', (state, isTerminal) => {
    const core = running('A');
    core.change('A', { state });

    const done = told(core, () => {
      core.poll();
      core.exit('A');
    });
    const later = told(core, () => core.poll());

    expect(done).toMatchObject([{ kind: 'done', issue: { identifier: 'A', state }, isTerminal, runs: 1 }]);
    expect(later).toEqual([]);
  });
});

test('an issue that finishes later causes its own notice, and a later end without a run causes none', () => {
  const core = running('A', 'B');
  const leave = (id: string, state: string) => () => {
    core.change(id, { state });
    core.poll();
    core.exit(id);
  };
  leave('A', 'Done')();

  const second = told(core, leave('B', 'Review'));
  const again = told(core, () => {
    core.state = { ...core.state, finished: core.state.finished.map((one) => ({ ...one, atMs: one.atMs + 1 })) };
  });

  expect(second).toMatchObject([{ kind: 'done', issue: { id: 'B' } }]);
  expect(again).toEqual([]);
});

describe('whatever happens', () => {
  test('equal states make no notices, and are not compared deeply', () => {
    const untouchable = new Proxy({}, { ownKeys: () => expect.unreachable() });
    const state = { claims: untouchable, finished: [], holds: {} };

    expect(noticesBetween(state, { ...state }, 0)).toEqual([]);
  });

  test('ids that are names of object members work like all others', () => {
    const core = running('A');
    core.signal('A', { type: 'asked', question: question('q') });
    const claims = { constructor: core.claim('A') } as unknown as State['claims'];

    const asked = noticesBetween({ ...core.state, claims: {} }, { ...core.state, claims }, core.now.wallMs);

    expect(asked).toMatchObject([{ kind: 'asking', question: { id: 'q' } }]);
  });

  const step = fc.constantFrom(
    'poll',
    'ask',
    'answer',
    'fail',
    'hold',
    'park',
    'finish',
    'done',
    'reopen',
    'retry',
    'wait',
  );
  const history = fc.array(fc.tuple(step, fc.constantFrom('A', 'B', 'C')), { maxLength: 60 });

  test('no cause is reported twice, and a restart at any point reports nothing', () => {
    fc.assert(
      fc.property(history, fc.nat(60), (steps, restartAt) => {
        const core = running('A', 'B', 'C');
        const all: Notice[] = [];
        for (const [index, [what, id]] of steps.entries()) {
          all.push(...told(core, () => play(core, what, id, index)));
          if (index !== restartAt) continue;
          const next = restarted(core.state, core);
          expect(noticesBetween(next, next, core.now.wallMs)).toEqual([]);
          core.state = next;
          // Leftover runs are closed first; only a parked question among them causes a notice.
          const closing = told(core, () => core.begin());
          expect(closing.filter(({ kind }) => kind !== 'parked')).toEqual([]);
          all.push(...closing);
        }
        expect(doubles(all)).toEqual([]);
      }),
      { numRuns: 300 },
    );
  });
});

/** Does it where it can be done, and nothing where not. */
function play(core: Core, what: string, id: string, index: number): void {
  const standing = core.standing(id);
  const isRunning = standing === 'running' || standing === 'asking';
  if (what === 'poll') core.poll();
  if (what === 'wait') core.advance(400_000);
  if (what === 'retry') core.send({ type: 'retry_requested', issueId: id });
  if (what === 'reopen') core.change(id, { state: 'Todo', title: `again ${index}` });
  if (what === 'done') {
    core.change(id, { state: 'Done' });
    core.poll();
  }
  if (core.state.read) core.answerReads();
  if (!isRunning || core.standing(id) === 'unclaimed') return;
  if (what === 'ask') core.signal(id, { type: 'asked', question: question(`q${index}`) });
  if (what === 'answer') core.signal(id, { type: 'question_closed', questionId: `q${index - 1}` });
  if (what === 'fail') core.fail(id);
  if (what === 'hold') core.fail(id, 'agent_unauthorized');
  if (what === 'park') core.fail(id, 'turn_input_required', { question: question(`p${index}`) });
  if (what === 'finish' || what === 'done') core.exit(id);
}

/** Questions by their id, finished issues by their runs; a hold and a parking may come again only after they were over. */
function doubles(notices: readonly Notice[]): string[] {
  const seen = new Set<string>();
  const holds = new Map<string, string>();
  return notices.flatMap((notice) => {
    if (notice.kind === 'hold') {
      const state = `${notice.event} ${notice.hold.code}`;
      const isDouble = holds.get(notice.source) === state;
      holds.set(notice.source, state);
      return isDouble ? [state] : [];
    }
    const cause = causeOf(notice);
    const isDouble = cause !== null && seen.has(cause);
    if (cause !== null) seen.add(cause);
    return isDouble ? [cause] : [];
  });
}

function causeOf(notice: Notice): string | null {
  if (notice.kind === 'asking') return `asking ${notice.question.id}`;
  if (notice.kind === 'done') return `done ${notice.issue.id} ${notice.runs}`;
  return notice.kind === 'parked' && notice.question ? `parked ${notice.question.id}` : null;
}
