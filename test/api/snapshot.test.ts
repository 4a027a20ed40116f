import { describe, expect, test } from 'vitest';
import { workflowFacts } from '../../src/api/snapshot.js';
import { NO_TOTALS, totalsAfter } from '../../src/api/totals.js';
import { whyNotReady } from '../../src/api/why-idle.js';
import type { Step } from '../../src/domain/steps/plan.js';
import type { Workflow } from '../../src/domain/workflow.js';
import { IMPLIED_PLAN, workflow } from '../support/builders.js';
import { Core } from '../support/core.js';
import { EPOCH_MS } from '../support/fake-clock.js';
import { FILE, viewOf } from '../support/status-samples.js';

const at = (ms: number) => new Date(EPOCH_MS + ms).toISOString();

/** As a client gets it: through JSON. */
// biome-ignore lint/suspicious/noExplicitAny: what arrives has no type, which is what a contract test is about.
const snap = (core: Core, used: Workflow = workflow()): any =>
  JSON.parse(JSON.stringify(viewOf(core, { workflow: workflowFacts(used, FILE) })));

const QUESTION = {
  id: 'q1',
  kind: 'input',
  text: 'Which colour?',
  fields: [{ id: 'f', label: 'Colour', options: ['red'] }],
} as const;

describe('the snapshot', () => {
  test('of a daemon that has just begun has every field, empty', () => {
    expect(snap(new Core())).toEqual({
      generated_at: at(0),
      daemon: {
        version: '1.2.3',
        pid: 7,
        started_at: '1970-01-01T00:00:00.000Z',
        state_dir: '/state',
        isolation: 'pidns',
      },
      counts: { running: 0, asking: 0, retrying: 0, parked: 0, ready: 0, ineligible: 0, done: 0 },
      slots: { taken: 0, limit: 10 },
      why_idle: 'The tracker has not been read yet.',
      why_idle_reason: { code: 'start_rule_failed', params: { rule: 'tracker_read', params: {} } },
      running: [],
      asking: [],
      retrying: [],
      parked: [],
      ready: [],
      ineligible: [],
      done: [],
      hold: null,
      holds: [],
      paused: null,
      shutting_down: false,
      tokens_today: { spent: 0, limit: null },
      codex_totals: {
        input_tokens: 0,
        cached_input_tokens: 0,
        output_tokens: 0,
        total_tokens: 0,
        seconds_running: 0,
      },
      rate_limits: null,
      poll: {
        last: null,
        next: at(0),
        in_flight: false,
        health: 'never',
        error: null,
        error_code: null,
        failing_since: null,
        problems: [],
        slowed_to_ms: null,
        rate_limit: null,
      },
      workflow: {
        path: '/project/WORKFLOW.md',
        hash: 'hash-1',
        loaded_at: '1970-01-01T00:00:00.000Z',
        error: null,
        held: null,
        restart_required: [],
        restart_error: null,
        backend: { value: 'http', source: 'built-in' },
        steps: 0,
      },
    });
  });

  test('of a running issue names its session, turn, tokens and what is left of its budget', () => {
    const core = new Core().put({ id: 'A', url: 'https://tracker.test/A' });
    core.poll();
    core.nowMs = 5_000;
    core.signal('A', { type: 'phase', phase: 'agent' });
    core.signal('A', { type: 'session', threadId: 't1', turnId: 'u1', turn: 2 });
    core.usage('A', 't1', 100, 20, 40);
    core.nowMs = 9_000;

    const { running, counts, slots, why_idle, tokens_today } = snap(core);
    expect(running).toEqual([
      {
        issue_id: 'A',
        issue_identifier: 'A',
        issue_url: 'https://tracker.test/A',
        title: 'Title of A',
        state: 'Todo',
        run_id: 'test-1',
        run_number: 1,
        reason: 'first',
        attempt: null,
        phase: 'agent',
        step: null,
        asking: false,
        stopping: null,
        probe: false,
        session_id: 't1-u1',
        turn_count: 2,
        last_event: 'item/completed',
        last_message: 'ran `npm test`, exit 0',
        last_message_event: 'item/completed',
        started_at: at(0),
        last_event_at: at(5_000),
        tokens: { input_tokens: 100, cached_input_tokens: 40, output_tokens: 20, total_tokens: 120 },
        budget: { spent: 80, limit: 10_000_000 },
      },
    ]);
    expect(counts.running).toBe(1);
    expect(slots).toEqual({ taken: 1, limit: 10 });
    expect(tokens_today).toEqual({ spent: 80, limit: null });
    expect(why_idle).toBeNull();
  });

  test('of a run with steps names the step that started last', () => {
    const core = new Core().put('A');
    core.poll();
    core.signal('A', { type: 'step', stepId: 'plan', kind: 'llm' });
    core.signal('A', { type: 'step', stepId: 'publish', kind: 'external' });

    expect(snap(core).running[0].step).toEqual({ id: 'publish', kind: 'external' });
  });

  test('S1-11 of a workflow with `steps:` has the backend, the tier that it came from, and how many steps there are', () => {
    const [agent] = IMPLIED_PLAN.steps as [Step];
    const common = { place: '', when: null, outputTo: null } as const;
    const both: Step = { shape: 'parallel', id: 'both', ...common, join: 'all', branches: [[agent], [agent]] };
    const backend = { value: 'cli', source: 'ORBIT_BACKEND', saidAuto: true } as const;
    const plan = { ...IMPLIED_PLAN, isImplied: false, steps: [agent, both], backend };

    expect(snap(new Core(), workflow({ plan })).workflow).toMatchObject({
      path: '/project/WORKFLOW.md',
      hash: 'hash-1',
      backend: { value: 'cli', source: 'ORBIT_BACKEND' },
      steps: 4,
    });
  });

  test('has what was done since yesterday, the newest first, each issue once, and none that has come back', () => {
    const core = new Core().put('A', 'B', 'C', 'D');
    core.poll();
    for (const id of ['A', 'B', 'C', 'D']) core.exit(id);
    core.send({ type: 'pause_requested' });
    core.change('D', { state: 'Done' });
    core.poll();
    core.nowMs += 2 * 86_400_000;
    core.change('A', { state: 'Human Review' });
    core.poll();
    core.nowMs += 1_000;
    for (const id of ['B', 'C']) core.change(id, { state: 'Done' });
    core.poll();
    core.change('C', { state: 'Todo' });
    core.send({ type: 'resume_requested' });
    core.poll();

    expect(snap(core).done.map((one: { issue_id: string; terminal: boolean }) => [one.issue_id, one.terminal])).toEqual(
      [
        ['B', true],
        ['A', false],
      ],
    );
    expect(snap(core).counts.done).toBe(2);
  });

  test('counts what all agents used since the daemon began, over days and issues, and how long they ran', () => {
    const core = new Core().put('A', 'B');
    const before = core.state;
    core.poll();
    for (const id of ['A', 'B'])
      core.signal(id, { type: 'usage', threadId: 't', totals: { input: 100, cached: 40, output: 20 } });
    core.nowMs += 5_000;
    core.confirmsWrites = false;
    const states = [before, core.state];
    core.exit('A');
    states.push(core.state);

    const totals = states.slice(1).reduce((sum, after, at) => totalsAfter(sum, states[at] ?? before, after), NO_TOTALS);
    const { codex_totals } = viewOf(core, { totals });
    expect(codex_totals).toEqual({
      ...{ input_tokens: 200, cached_input_tokens: 80, output_tokens: 40, total_tokens: 240 },
      seconds_running: 10,
    });
  });

  test('of a run without a session yet has no session id and no turn', () => {
    const core = new Core().put('A');
    core.confirmsWrites = false;
    core.poll();

    expect(snap(core).running[0]).toMatchObject({ phase: 'claiming', session_id: null, turn_count: 0 });
  });

  test('of a run that is being stopped has the reason', () => {
    const core = new Core().put('A');
    core.poll();
    core.send({ type: 'stop_requested', issueId: 'A' });

    expect(snap(core).running[0].stopping).toBe('operator');
  });

  test('of an asking run has the question, and until when it can be answered', () => {
    const core = new Core().put('A');
    core.poll();
    core.nowMs = 1_000;
    core.signal('A', { type: 'asked', question: QUESTION });
    core.nowMs = 3_000;

    const { asking, running, counts, why_idle } = snap(core);
    expect(asking).toEqual([
      {
        issue_id: 'A',
        issue_identifier: 'A',
        issue_url: null,
        title: 'Title of A',
        state: 'Todo',
        run_id: 'test-1',
        asked_at: at(1_000),
        answer_until: at(601_000),
        on_timeout: 'park',
        questions: [QUESTION],
      },
    ]);
    expect(running[0].asking).toBe(true);
    expect(counts).toMatchObject({ running: 1, asking: 1 });
    expect(why_idle).toBe('A cannot go on until a person answers.');
  });

  test('of waiting issues has the soonest first, with attempt, due time and error', () => {
    const core = new Core().put('A', 'B');
    core.poll();
    core.fail('B');
    core.nowMs = 2_000;
    core.fail('A', 'hook_failed');

    const { retrying, why_idle } = snap(core);
    expect(retrying.map((entry: { issue_id: string }) => entry.issue_id)).toEqual(['B', 'A']);
    expect(retrying[1]).toMatchObject({
      attempt: 1,
      reason: 'retry',
      since: at(2_000),
      due: false,
      error: 'because of hook_failed',
      error_code: 'hook_failed',
      failures: 1,
    });
    expect(Date.parse(retrying[1].due_at)).toBeGreaterThanOrEqual(EPOCH_MS + 12_000);
    expect(why_idle).toMatch(
      /^2 issues wait, B waits until 2026-01-01T00:00:1\S+Z \(retry after: because of turn_failed\) as the first\.$/,
    );
  });

  test('of a parked issue has reason, message and the open question', () => {
    const core = new Core().put('A');
    core.poll();
    core.nowMs = 4_000;
    core.fail('A', 'turn_input_required', { question: QUESTION });

    const { parked, counts, why_idle } = snap(core);
    expect(parked).toEqual([
      expect.objectContaining({
        issue_id: 'A',
        reason: 'input_required',
        since: at(4_000),
        message: 'because of turn_input_required',
        question: QUESTION,
        keeps_slot: false,
      }),
    ]);
    expect(counts).toMatchObject({ parked: 1, running: 0 });
    expect(why_idle).toBe('A is parked (input_required, because of turn_input_required).');
  });

  test('of an issue whose processes outlive SIGKILL keeps its slot, and names it as the obstacle for others', () => {
    const core = new Core({ agent: { maxConcurrentAgents: 1 } }).put('A', 'B');
    core.poll();
    core.send({ type: 'run_unkillable', runId: core.runId('A') });

    const { parked, slots, why_idle } = snap(core);
    expect(parked[0]).toMatchObject({ reason: 'unkillable', keeps_slot: true });
    expect(slots).toEqual({ taken: 1, limit: 1 });
    expect(why_idle).toBe('B does not start: no free slot: agent.max_concurrent_agents is 1.');
  });

  test('lists ready issues in the order of the starts, each with its reason', () => {
    const core = new Core({ agent: { maxConcurrentAgents: 2, maxConcurrentAgentsByState: { todo: 1 } } });
    core.put({ id: 'A', priority: 1 }, { id: 'B', priority: 3 }, { id: 'C', priority: 2 });
    core.poll();

    const { ready, counts } = snap(core);
    expect(ready.map((entry: { issue_id: string }) => entry.issue_id)).toEqual(['C', 'B']);
    expect(ready[0]).toMatchObject({
      issue_identifier: 'C',
      priority: 2,
      retry: false,
      why: 'no free slot for issues in "Todo": agent.max_concurrent_agents_by_state',
    });
    expect(counts).toMatchObject({ running: 1, ready: 2 });
  });

  test('lists ineligible issues with every failed rule', () => {
    const core = new Core({ tracker: { requiredLabels: ['agent'] } });
    core.put({ id: 'A', author: { login: 'eve', trusted: false } });
    core.poll();

    const { ineligible, why_idle } = snap(core);
    expect(ineligible).toEqual([
      {
        issue_id: 'A',
        issue_identifier: 'A',
        issue_url: null,
        title: 'Title of A',
        state: 'Todo',
        reasons: [
          { rule: 'trusted_author', why: 'its author eve is not trusted', params: { author: 'eve' } },
          { rule: 'required_labels', why: 'it lacks the label "agent"', params: { missing: ['agent'] } },
        ],
      },
    ]);
    expect(why_idle).toBe('One issue is not eligible (A: its author eve is not trusted).');
  });

  test('of a hold has its reason, what to do and when it is tried again', () => {
    const core = new Core().put('A', 'B');
    core.poll();
    core.fail('A', 'agent_unauthorized');
    core.fail('B', 'agent_unauthorized');

    const { hold, holds, why_idle, ready } = snap(core);
    expect(hold).toMatchObject({
      source: 'agent',
      code: 'agent_unauthorized',
      message: 'because of agent_unauthorized',
      action: 'Log in again.',
      since: at(0),
      tries: 0,
    });
    expect(holds).toEqual([hold]);
    expect(why_idle).toBe(
      `On hold (agent_unauthorized, next try at ${hold.until}): because of agent_unauthorized; log in again.`,
    );
    expect(ready.every(({ why }: { why: string }) => why.startsWith('on hold (agent_unauthorized'))).toBe(true);
  });

  test('of a hold that may be probed names the probe and the issues that wait for it', () => {
    const core = new Core().put('A', 'B');
    core.poll();
    core.fail('A', 'agent_unauthorized');
    core.fail('B', 'agent_unauthorized');
    core.advance(15_000);

    const { ready, why_idle, hold } = snap(core);
    expect(hold.code).toBe('agent_unauthorized');
    expect(ready.map((entry: { why_reason: unknown }) => entry.why_reason)).toEqual([
      null,
      { code: 'probe_turn', params: { codes: ['agent_unauthorized'], first: 'A' } },
    ]);
    expect(why_idle).toBeNull();
  });

  test('of a hold without an issue to probe it names the hold as idle reason', () => {
    const core = new Core().put('A');
    core.poll();
    core.fail('A', 'agent_unauthorized');
    core.board.clear();
    core.poll();
    core.advance(15_000);

    expect(snap(core).why_idle).toBe('On hold (agent_unauthorized) until a run can be tried.');
  });

  test('of an issue with a new budget counts from there', () => {
    const core = new Core().put('A');
    core.poll();
    core.usage('A', 't1', 100);
    core.fail('A');
    core.send({ type: 'retry_requested', issueId: 'A' });
    core.poll();
    core.usage('A', 't2', 30);

    expect(snap(core).running[0].budget.spent).toBe(30);
  });

  test('of a failed poll reports the failure, not an empty board', () => {
    const core = new Core().put('A');
    core.tick();
    core.answerPoll({ candidates: { ok: false, code: 'tracker_request', message: 'connection refused.' } });

    const { poll, why_idle } = snap(core);
    expect(poll).toMatchObject({
      last: null,
      next: at(30_000),
      health: 'failed',
      error: 'connection refused.',
      error_code: 'tracker_request',
      failing_since: at(0),
    });
    expect(why_idle).toBe(
      `The tracker cannot be read (tracker_request): connection refused; next try at ${at(30_000)}.`,
    );
  });

  test('of a refused token names the hold and what to do about it', () => {
    const core = new Core();
    core.tick();
    core.answerPoll({ candidates: { ok: false, code: 'tracker_auth', message: '401' } });

    expect(snap(core).why_idle).toBe('On hold (tracker_auth): 401; renew the token in the named environment variable.');
  });

  test('of a pause has its start', () => {
    const core = new Core().put('A');
    core.send({ type: 'pause_requested' });
    core.poll();

    const { paused, why_idle, ready } = snap(core);
    expect(paused).toEqual({ since: at(0) });
    expect(why_idle).toBe(`Paused since ${at(0)}; resume with \`baton resume\`.`);
    expect(ready[0].why).toBe(`paused since ${at(0)}; resume with \`baton resume\``);
  });

  test('of an empty board names the active states and the next poll', () => {
    const core = new Core();
    core.poll();

    const { why_idle, poll } = snap(core);
    expect(poll).toMatchObject({ health: 'ok', last: at(0), next: at(30_000) });
    expect(why_idle).toBe(
      `No issue of the tracker is in an active state ("Todo", "In Progress"); it is read again at ${at(30_000)}.`,
    );
  });

  test('lists what could not be read from the tracker', () => {
    const core = new Core();
    core.tick();
    core.answerPoll({ candidates: { ok: true, issues: [], unknown: [], problems: ['a.md: no title'] } });

    const { poll, why_idle } = snap(core);
    expect(poll.problems).toEqual(['a.md: no title']);
    expect(why_idle).toBe('One thing in the tracker needs a look (a.md: no title).');
  });

  test('names all reasons to be idle at once', () => {
    const core = new Core().put('A', 'B', { id: 'C', dispatchable: false }, { id: 'D', dispatchable: false });
    core.poll();
    core.fail('A');
    core.fail('B', 'turn_input_required', { question: QUESTION });

    expect(snap(core).why_idle).toMatch(
      /^A waits until \S+ \(retry after: .*\); B is parked \(input_required, .*\); 2 issues are not eligible \(C: .*; …\)\.$/,
    );
  });

  test('of a rate limit whose reset no calendar has still comes, without that time', () => {
    const core = new Core();
    core.rateLimit = { remaining: 3, resetAtMs: 1e18 };
    core.poll();

    expect(snap(core).poll.rate_limit).toEqual({ remaining: 3, reset_at: null });
  });

  test('counts the tokens of this day only', () => {
    const core = new Core().put('A');
    core.poll();
    core.usage('A', 't1', 100);
    core.nowMs = 86_400_000;

    expect(snap(core).tokens_today.spent).toBe(0);
  });
});

describe('ready', () => {
  test('is a daemon that has read its tracker and holds nothing', () => {
    const core = new Core().put('A');

    expect(whyNotReady(core.state)).toBe('The tracker has not been read yet.');
    core.tick();
    core.answerPoll({ refresh: { ok: false, code: 'tracker_request', message: 'refused' } });
    expect(whyNotReady(core.state)).toBe('The tracker cannot be read (tracker_request): refused');
    core.poll();
    expect(whyNotReady(core.state)).toBeNull();
    core.fail('A', 'agent_unauthorized');
    expect(whyNotReady(core.state)).toBe('On hold (agent_unauthorized): because of agent_unauthorized');
  });

  test('is not a daemon that is shutting down', () => {
    const core = new Core();
    core.poll();
    core.send({ type: 'shutdown_requested' });

    expect(whyNotReady(core.state)).toBe('The daemon is shutting down.');
  });
});
