import { describe, expect, test } from 'vitest';
import { type Action, decideAction, refreshAnswer } from '../../src/api/actions.js';
import type { AnswerRequest } from '../../src/api/schemas.js';
import type { Config } from '../../src/domain/config.js';
import type { Question } from '../../src/domain/run-signal.js';
import type { DeepPartial } from '../support/builders.js';
import { Core } from '../support/core.js';

const APPROVAL: Question = { id: 'q1', kind: 'approval', text: 'Run a command', fields: [] };
const INPUT: Question = {
  id: 'q2',
  kind: 'input',
  text: 'Two things',
  fields: [
    { id: 'colour', label: 'Which colour?', options: ['red', 'blue'] },
    { id: 'size', label: 'Which size?', options: [] },
  ],
};

function running(settings: DeepPartial<Config> = {}): Core {
  const core = new Core(settings).put('A');
  core.poll();
  core.signal('A', { type: 'phase', phase: 'agent' });
  core.signal('A', { type: 'session', threadId: 't', turnId: 'u', turn: 1 });
  return core;
}

function asking(...questions: Question[]): Core {
  const core = running();
  for (const question of questions) core.signal('A', { type: 'asked', question });
  return core;
}

/** No answer came in time. */
function parkedWith(question: Question): Core {
  const core = asking(question);
  core.advance(600_000);
  core.fail('A', 'turn_input_required');
  return core;
}

function stopped(): Core {
  const core = running();
  core.send({ type: 'stop_requested', issueId: 'A' });
  core.fail('A', 'STOPPED_BY_OPERATOR');
  return core;
}

function unkillable(): Core {
  const core = running();
  core.send({ type: 'run_unkillable', runId: core.runId('A') });
  return core;
}

/** A candidate that no rule lets start. */
function ineligible(): Core {
  const core = new Core({ tracker: { requiredLabels: ['baton'] } }).put('A');
  core.poll();
  return core;
}

/** A candidate behind one that has the only slot. */
function inLine(): Core {
  const core = new Core({ agent: { maxConcurrentAgents: 1 } }).put({ id: 'B', priority: 1 }, 'A');
  core.poll();
  return core;
}

function decided(core: Core, action: Action, name = 'A') {
  return decideAction(core.state, name, action);
}

const STOP: Action = { kind: 'stop' };
const RETRY: Action = { kind: 'retry' };
const MESSAGE: Action = { kind: 'message', text: 'mind the gap' };
const answer = (request: AnswerRequest): Action => ({ kind: 'answer', request });
const event = (type: string, rest: object = {}) => ({ event: { type, issueId: 'A', ...rest } });

describe('an issue', () => {
  test('is found by its identifier, else by its id, else as people type it', () => {
    const core = new Core().put({ id: '1', identifier: '2' }, { id: '2', identifier: 'TASK-3' });
    core.poll();
    const idOf = (name: string) => decideAction(core.state, name, STOP);

    expect(idOf('2')).toMatchObject({ event: { issueId: '1' } });
    expect(idOf('1')).toMatchObject({ event: { issueId: '1' } });
    expect(idOf('task-3')).toMatchObject({ event: { issueId: '2' } });
  });

  test('that does not exist is refused with the nearest identifier', () => {
    const core = new Core().put({ id: '1', identifier: 'TASK-12' });
    core.poll();

    expect(decided(core, STOP, 'TSAK-12')).toEqual({
      status: 404,
      code: 'issue_not_found',
      message: 'No issue TSAK-12 is claimed or among the candidates of the last poll. Did you mean TASK-12?',
      params: { reason: 'issue_not_found', name: 'TSAK-12', nearest: 'TASK-12' },
    });
  });

  test('that is done is refused as not active', () => {
    const core = running();
    core.change('A', { state: 'Done' });
    core.poll();
    core.fail('A', 'CANCELLED_BY_ORCHESTRATOR');
    core.send({ type: 'workspace_removed', issueId: 'A', report: { ok: true } });

    for (const name of ['A', 'a'])
      expect(decided(core, RETRY, name)).toEqual({
        status: 409,
        code: 'not_active',
        message: expect.stringMatching(
          /^A has been "Done" since \S+ and is not worked on any more\. To go on, move it to "Todo" or "In Progress" in the tracker\.$/,
        ),
        params: {
          ...{ reason: 'not_active', identifier: 'A', state: 'Done', since: expect.any(String) },
          open_states: ['Todo', 'In Progress'],
        },
      });
  });

  test('with another number is another issue, and no typing error', () => {
    const core = new Core().put({ id: '1', identifier: 'TASK-1' });
    core.poll();

    expect(decided(core, STOP, 'TASK-99')).toMatchObject({ message: expect.not.stringContaining('Did you mean') });
  });

  test('that waits for another is refused with one failed rule', () => {
    const core = new Core().put('B', { id: 'A', blocked_by: [{ id: 'B', identifier: 'B', state: 'Todo' }] });
    core.poll();

    const blockers = [{ name: 'B', state: 'Todo' }];
    expect(decided(core, STOP)).toMatchObject({
      params: { reason: 'not_startable', failed: [{ rule: 'not_blocked', params: { blockers } }] },
    });
  });

  test.each(['__proto__', 'constructor', '', '..'])('called %j is none', (name) => {
    expect(decided(running(), STOP, name)).toMatchObject({ status: 404 });
  });
});

describe('stop', () => {
  test.each<[string, () => Core, object]>([
    ['a running issue', running, event('stop_requested')],
    ['one that asks', () => asking(APPROVAL), event('stop_requested')],
    ['one that is being stopped', stopping('operator'), { status: 409, code: 'already_stopped' }],
    ['one whose issue is done', stopping('terminal'), { status: 409, code: 'being_stopped' }],
    ['one whose issue was moved', stopping('inactive'), event('stop_requested')],
    ['one that waits', waiting, event('stop_requested')],
    ['one that is parked', () => parkedWith(APPROVAL), event('stop_requested')],
    ['one that is stopped', stopped, { status: 409, code: 'already_stopped' }],
    ['one whose processes outlive SIGKILL', unkillable, { status: 409, code: 'being_stopped' }],
    ['one that could start', inLine, event('stop_requested')],
    ['one that may not start', ineligible, { status: 409, code: 'not_running', message: /lacks the label "baton"/ }],
  ])('of %s', (_, arrange, expected) => {
    expect(decided(arrange(), STOP)).toMatchObject(matching(expected));
  });
});

describe('retry', () => {
  test.each<[string, () => Core, object]>([
    ['a running issue', running, { status: 409, code: 'already_running', message: /run 1.*stop it first/ }],
    ['one that asks', () => asking(APPROVAL), { status: 409, code: 'already_running', message: /`baton answer A`/ }],
    ['one that is being stopped', stopping('operator'), event('retry_requested')],
    ['one that is being stopped, twice', retriedWhileStopping, { status: 409, code: 'being_stopped' }],
    ['one whose issue is done', stopping('terminal'), { status: 409, code: 'being_stopped' }],
    ['one whose issue was moved', stopping('inactive'), { status: 409, code: 'being_stopped' }],
    ['one that waits', waiting, event('retry_requested')],
    ['one that is parked', stopped, event('retry_requested')],
    [
      'one that is parked with a question',
      () => parkedWith(APPROVAL),
      { message: /the open question of its agent is dropped/ },
    ],
    ['one whose processes outlive SIGKILL', unkillable, { status: 409, code: 'being_stopped' }],
    ['one that is in line', inLine, { status: 409, code: 'not_claimed', message: /in line already.*baton explain A/ }],
    ['one that may not start', ineligible, { status: 409, code: 'not_claimed', message: /lacks the label "baton"/ }],
    ['one whose budget is spent', spent, { ...event('retry_requested'), message: /has a new budget/ }],
    ['one that is held up', heldUp, { ...event('retry_requested'), message: /tried now/ }],
  ])('of %s', (_, arrange, expected) => {
    expect(decided(arrange(), RETRY)).toMatchObject(matching(expected));
  });
});

describe('message', () => {
  test.each<[string, () => Core, object]>([
    ['a running issue', running, event('message_given', { text: 'mind the gap' })],
    ['one whose workspace is prepared', preparing, { message: /with its first prompt/ }],
    ['one that asks', () => asking(APPROVAL), event('message_given')],
    ['one that is being claimed', claiming, { status: 409, code: 'not_running', message: /in a moment/ }],
    ['one whose agent is done', finishing, { status: 409, code: 'not_running', message: /only hooks/ }],
    ['one that is between steps', betweenSteps, event('message_given')],
    ['one that is being stopped', stopping('operator'), { status: 409, code: 'being_stopped' }],
    ['one that waits', waiting, { status: 409, code: 'not_running' }],
    ['one that is parked', stopped, { status: 409, code: 'not_running' }],
    ['one that is in line', inLine, { status: 409, code: 'not_running' }],
  ])('to %s', (_, arrange, expected) => {
    expect(decided(arrange(), MESSAGE)).toMatchObject(matching(expected));
  });
});

describe('answer', () => {
  const given = (questionId: string, what: object) => event('answer_given', { questionId, answer: what });
  const YES = answer({ decision: 'accept' });
  const NO = answer({ decision: 'decline' });
  const WORDS = answer({ values: { colour: 'red', size: 'L' } });

  test.each<[string, () => Core, Action, object]>([
    ['yes to an approval', () => asking(APPROVAL), YES, given('q1', { kind: 'accept' })],
    ['no to an approval', () => asking(APPROVAL), NO, given('q1', { kind: 'decline' })],
    ['yes to one that is parked', () => parkedWith(APPROVAL), YES, given('q1', { kind: 'accept' })],
    ['words', () => asking(INPUT), WORDS, given('q2', { kind: 'input', values: { colour: 'red', size: 'L' } })],
    ['words to one that is parked', () => parkedWith(INPUT), WORDS, given('q2', { kind: 'input' })],
    ['no to a question for words', () => asking(INPUT), NO, given('q2', { kind: 'decline' })],
    [
      'the one that is named',
      () => asking(APPROVAL, INPUT),
      answer({ question_id: 'q1', decision: 'accept' }),
      given('q1', {}),
    ],
    ['when nothing is asked', running, YES, { status: 409, code: 'nothing_to_answer' }],
    ['when it is waiting', waiting, YES, { status: 409, code: 'nothing_to_answer' }],
    ['when it is in line', inLine, YES, { status: 409, code: 'nothing_to_answer' }],
    ['when it is parked for another reason', stopped, YES, { status: 409, code: 'nothing_to_answer' }],
    ['while it is being parked', timingOut, YES, { status: 409, code: 'being_stopped', message: /once it is parked/ }],
    [
      'to one of several, unnamed',
      () => asking(APPROVAL, INPUT),
      YES,
      { status: 409, code: 'question_ambiguous', params: { open: ['q1', 'q2'] } },
    ],
    [
      'to an unknown question',
      () => asking(APPROVAL),
      answer({ question_id: 'q9', decision: 'accept' }),
      { status: 409, code: 'question_unknown', message: /Open: q1/ },
    ],
    ['words to an approval', () => asking(APPROVAL), WORDS, { status: 400, message: /accept or decline/ }],
    [
      'yes to a question for words',
      () => asking(INPUT),
      YES,
      { status: 400, message: /colour \(Which colour\?\), size/ },
    ],
    [
      'a field too many',
      () => asking(INPUT),
      answer({ values: { colour: 'red', size: 'L', toString: 'x' } }),
      { status: 400, code: 'INVALID_REQUEST', message: /no field toString/ },
    ],
    [
      'a field too few',
      () => asking(INPUT),
      answer({ values: { colour: 'red' } }),
      { status: 400, code: 'INVALID_REQUEST', message: /Not answered: size\. Give each a value, or decline/ },
    ],
    [
      'a field that is left empty',
      () => asking(INPUT),
      answer({ values: { colour: 'red', size: ' ' } }),
      { status: 400, code: 'INVALID_REQUEST', message: /Not answered: size/ },
    ],
  ])('%s', (_, arrange, action, expected) => {
    expect(decided(arrange(), action)).toMatchObject(matching(expected));
  });
});

describe('refresh', () => {
  test('goes along with a poll that is under way or due, and is a poll of its own otherwise', () => {
    const core = new Core();
    const due = refreshAnswer(core.state, core.now);
    core.tick();
    const underWay = refreshAnswer(core.state, core.now);
    core.answerPoll();

    expect(due).toEqual({ queued: true, coalesced: true, operations: ['poll', 'reconcile'] });
    expect(underWay.coalesced).toBe(true);
    expect(refreshAnswer(core.state, core.now).coalesced).toBe(false);
  });
});

function waiting(): Core {
  const core = running();
  core.fail('A');
  return core;
}

function stopping(reason: 'operator' | 'terminal' | 'inactive'): () => Core {
  return () => {
    const core = running();
    if (reason === 'operator') core.send({ type: 'stop_requested', issueId: 'A' });
    else core.change('A', { state: reason === 'terminal' ? 'Done' : 'Backlog' }).poll();
    return core;
  };
}

function retriedWhileStopping(): Core {
  const core = stopping('operator')();
  core.send({ type: 'retry_requested', issueId: 'A' });
  return core;
}

function timingOut(): Core {
  const core = asking(APPROVAL);
  core.advance(600_000);
  return core;
}

function preparing(): Core {
  const core = new Core().put('A');
  core.poll();
  return core;
}

function claiming(): Core {
  const core = new Core().put('A');
  core.confirmsWrites = false;
  core.poll();
  return core;
}

function finishing(): Core {
  const core = running();
  core.signal('A', { type: 'phase', phase: 'finishing' });
  return core;
}

function betweenSteps(): Core {
  const core = running();
  core.signal('A', { type: 'step', stepId: 'build', kind: 'agent' });
  core.signal('A', { type: 'phase', phase: 'finishing' });
  return core;
}

/** Released with nothing left to spend. */
function spent(): Core {
  const core = running({ agent: { maxTokensPerIssue: 100 } });
  core.usage('A', 't', 200);
  core.fail('A', 'budget_exceeded');
  core.change('A', { state: 'Backlog' }).poll();
  core.change('A', { state: 'Todo' }).poll();
  return core;
}

function heldUp(): Core {
  const core = new Core({ agent: { maxConcurrentAgents: 1 } }).put({ id: 'B', priority: 1 }, 'A');
  core.poll();
  core.fail('B', 'agent_quota');
  return core;
}

/** Texts of which only a part matters. */
function matching(expected: object): object {
  const { message, ...rest } = expected as { readonly message?: RegExp };
  return message === undefined ? rest : { ...rest, message: expect.stringMatching(message) };
}
