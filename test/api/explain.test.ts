import { describe, expect, test } from 'vitest';
import type { State } from '../../orchestrator/state.js';
import { explainRules } from '../../src/api/explain.js';
import type { RuleView } from '../../src/api/schemas.js';
import type { Claim, Hold, HoldSource, ParkReason } from '../../src/domain/claim.js';
import type { Config } from '../../src/domain/config.js';
import type { ErrorCode } from '../../src/domain/errors.js';
import type { Issue } from '../../src/domain/issue.js';
import type { DeepPartial } from '../support/builders.js';
import { issue } from '../support/builders.js';
import { Core, started } from '../support/core.js';
import { EPOCH_MS } from '../support/fake-clock.js';

const at = (ms: number) => new Date(EPOCH_MS + ms).toISOString();

/** Polled, with one issue A that a full daemon has not started yet: nothing but what a case adds keeps it. */
function ready(settings: DeepPartial<Config> = {}, overrides: Partial<Issue> = {}): Core {
  const core = new Core({ tracker: { requiredLabels: ['baton'] }, ...settings });
  core.put({ id: 'A', labels: ['baton'], ...overrides });
  core.tick();
  core.answerPoll();
  const { claims: _, ...rest } = core.state;
  const board = core.board.get('A');
  core.state = { ...rest, claims: {}, runs: {}, candidates: board ? { A: board } : {} };
  return core;
}

/** A has a run, and its agent is at work. */
function running(settings: DeepPartial<Config> = {}): Core {
  const core = new Core(settings).put('A');
  core.poll();
  core.signal('A', { type: 'phase', phase: 'agent' });
  core.signal('A', { type: 'session', threadId: 't', turnId: 'u', turn: 1 });
  return core;
}

function explain(core: Core, change: Partial<State> = {}): RuleView[] {
  const state = { ...core.state, ...change };
  const claim = state.claims.A ?? null;
  const known = claim?.issue ?? state.candidates.A ?? issue('A');
  return explainRules(state, core.now, known, claim);
}

const failing = (rules: readonly RuleView[]) => rules.filter(({ pass }) => !pass);

function held(code: ErrorCode, untilMs: number | null): Hold {
  return { code, message: 'It is so.', sinceMs: EPOCH_MS, tries: 0, untilMs, probed: [] };
}

function parked(reason: ParkReason, more: object = {}): Claim {
  const question = reason === 'input_required' ? { id: 'q', kind: 'approval', text: '?', fields: [] } : null;
  const status = {
    kind: 'parked',
    reason,
    sinceMs: 0,
    message: 'because',
    hash: '',
    question,
    threadId: null,
    run: null,
  };
  return {
    issue: issue({ id: 'A', labels: ['baton'] }),
    failures: 0,
    idleRuns: 0,
    failedAsProbe: false,
    daemonDeaths: 0,
    status: { ...status, ...more } as Claim['status'],
    live: { issueSeq: 0, refusals: 0, run: null },
  };
}

const unclaimed = (core: Core) => ({ candidates: {}, claims: core.state.claims });

/** One way for each rule to fail, alone. */
const CASES: { readonly [rule: string]: () => { rules: RuleView[]; why: string; action: string } } = {
  complete: () => ({
    rules: explain(ready({}, { title: ' ' })),
    why: 'id, identifier, title or state is empty in the tracker',
    action: 'fill them in, in the tracker',
  }),
  not_terminal: () => ({
    // `Done` is active and terminal: terminal wins.
    rules: explain(ready({ tracker: { requiredLabels: [], activeStates: ['Todo', 'Done'] } }, { state: 'Done' })),
    why: 'its state "Done" is terminal',
    action: 'move it to "Todo" in the tracker',
  }),
  active_state: () => ({
    rules: explain(ready({}, { state: 'Backlog' }), {
      candidates: { A: issue({ id: 'A', labels: ['baton'], state: 'Backlog' }) },
    }),
    why: 'its state "Backlog" is not among "Todo", "In Progress"',
    action: 'move it to "Todo" or "In Progress" in the tracker',
  }),
  dispatchable: () => ({
    rules: explain(ready({}, { dispatchable: false })),
    why: 'the tracker does not assign it to this daemon',
    action: 'check in the tracker who it is assigned to and who changed it; docs/trackers.md has the rules',
  }),
  not_blocked: () => ({
    rules: explain(ready({}, { blocked_by: [{ id: '7', identifier: 'AB-7', state: 'Todo' }] })),
    why: 'it waits for AB-7 (Todo)',
    action: 'finish AB-7, or remove the dependency in the tracker',
  }),
  blockers_at_rest: () => {
    const core = ready({}, { blocked_by: [{ id: 'B', identifier: 'AB-7', state: 'Done' }] });
    const other = running().claim('A');
    return {
      rules: explain(core, { claims: { B: { ...other, issue: issue('B') } }, runs: { 'run-B': 'B' } }),
      why: 'it waits for the run of AB-7 (Done) to end',
      action: 'wait: it starts when that run has ended',
    };
  },
  trusted_author: () => ({
    rules: explain(ready({}, { author: { login: 'eve', trusted: false } })),
    why: 'its author eve is not trusted',
    action:
      'read it; if it is harmless, let a trusted person create it again, or widen tracker.trust (docs/trackers.md)',
  }),
  required_labels: () => ({
    rules: explain(ready({}, { labels: [] })),
    why: 'it lacks the label "baton"',
    action: 'add the label `baton` in the tracker',
  }),
  not_being_removed: () => ({
    rules: explain(ready(), { removals: { A: 'A' } }),
    why: 'its workspace is being removed',
    action: 'wait until the workspace is removed',
  }),
  budget_left: () => ({
    rules: explain(ready(), { records: { A: { runs: 1, tokens: 10_000_001, budgetFrom: 0, threads: [] } } }),
    why: 'its token budget is spent: 10000001 of 10000000',
    action: 'raise agent.max_tokens_per_issue, or grant a new budget with `baton retry A`',
  }),
  not_being_stopped: () => {
    const core = running();
    core.send({ type: 'stop_requested', issueId: 'A' });
    return {
      rules: explain(core),
      why: 'its run is being stopped: an operator stopped the run',
      action: 'wait until its processes are gone',
    };
  },
  no_open_question: () => {
    const core = running();
    core.signal('A', { type: 'asked', question: { id: 'q', kind: 'approval', text: 'rm -rf?', fields: [] } });
    return { rules: explain(core), why: 'its agent waits for an answer', action: '`baton answer A`' };
  },
  not_parked: () => ({
    rules: explain(ready(), { ...unclaimed(ready()), claims: { A: parked('input_required') } }),
    why: 'parked as input_required: because',
    action: '`baton answer A`',
  }),
  processes_gone: () => {
    const core = running();
    core.send({ type: 'run_unkillable', runId: core.runId('A') });
    return {
      // It is parked for it, which is another rule.
      rules: explain(core).filter(({ rule }) => rule !== 'not_parked'),
      why: 'processes of run 1 outlive SIGKILL and keep its slot',
      action: 'look for a hung disk or device; the slot is free when they are gone',
    };
  },
  due: () => {
    const core = running();
    core.fail('A');
    const { dueAtMs } = core.status('A', 'waiting');
    const until = at(dueAtMs - EPOCH_MS);
    return {
      rules: explain(core),
      why: `its next run is due at ${until}, after a failure: because of turn_failed`,
      action: `wait until ${until}, or start it now with \`baton retry A\``,
    };
  },
  not_shutting_down: () => ({
    rules: explain(ready(), { shutdown: { deadlineAwakeMs: 1, exited: false } }),
    why: 'the daemon is shutting down',
    action: 'wait until it has ended, then start it again',
  }),
  not_reopening: () => ({
    rules: explain(ready(), { reopenFor: ['tracker.kind', 'workspace.root'], runs: { 'r-1': 'B' } }),
    why: 'tracker.kind, workspace.root changed in WORKFLOW.md: waiting for 1 run to end',
    action: 'wait until they have ended, stop them, or take the change back',
  }),
  not_paused: () => ({
    rules: explain(ready(), { pausedSinceMs: EPOCH_MS }),
    why: `paused since ${at(0)}`,
    action: 'resume with `baton resume`',
  }),
  not_rate_limited: () => {
    const core = ready();
    const rateLimit = { remaining: 0, resetAtMs: EPOCH_MS + 5_000 };
    return {
      rules: explain(core, { poll: { ...core.state.poll, rateLimit } }),
      why: `the tracker limits our requests until ${at(5_000)}`,
      action: `wait until ${at(5_000)}`,
    };
  },
  tracker_readable: () => {
    const core = ready();
    const failure = { code: 'tracker_request', message: 'It is down.', sinceMs: 0 } as const;
    return {
      rules: explain(core, { poll: { ...core.state.poll, failure } }),
      why: `the tracker cannot be read (tracker_request): It is down; next try at ${at(30_000)}`,
      action: 'check the network and the endpoint; Baton tries again',
    };
  },
  tracker_read: () => {
    const core = ready();
    return {
      rules: explain(core, { poll: { ...core.state.poll, lastOkAtMs: null } }),
      why: 'the tracker has not been read yet',
      action: 'wait: it takes a moment',
    };
  },
  reading_fresh: () => {
    const core = ready();
    core.nowMs = 60_001;
    return {
      rules: explain(core),
      why: `the last reading of the tracker, at ${at(0)}, is too old to start anything`,
      action: `wait: it is read at ${at(30_000)}`,
    };
  },
  ...Object.fromEntries(
    (
      [
        ['workflow', 'template_parse_error', 9_000, 'fix the named line and column'],
        ['store', 'store_failed', 9_000, 'check disk space and rights of the state directory'],
        ['tracker', 'tracker_auth', null, 'renew the token in the named environment variable'],
        ['disk', 'low_disk', null, 'free space, or lower workspace.min_free_mb'],
        ['budget', 'budget_exceeded', 9_000, `raise agent.max_tokens_per_day, or wait until ${at(9_000)}`],
        ['agent', 'agent_unauthorized', 9_000, 'log in again'],
      ] as const satisfies readonly (readonly [HoldSource, ErrorCode, number | null, string])[]
    ).map(([source, code, untilMs, action]) => [
      `no_hold_${source}`,
      () => {
        const hold = held(code, untilMs === null ? null : EPOCH_MS + untilMs);
        const word = source === 'budget' ? 'until' : 'next try at';
        const until = untilMs === null ? '' : `, ${word} ${at(untilMs)}`;
        return {
          rules: explain(ready(), { holds: { [source]: hold } }),
          why: `on hold (${code}${until}): It is so`,
          action,
        };
      },
    ]),
  ),
  probe_turn: () => {
    const core = ready();
    const other = issue({ id: 'B', labels: ['baton'], priority: 1 });
    return {
      rules: explain(core, {
        candidates: { ...core.state.candidates, B: other },
        holds: { agent: held('agent_quota', EPOCH_MS) },
      }),
      why: 'on hold (agent_quota) until one run shows that the cause is gone; B is tried first',
      action: 'wait for the run of B',
    };
  },
  wanted: () => ({
    rules: explain(ready(), { once: { only: 'B', due: ['B'], results: {}, finalPollAfterSeq: null, isOver: false } }),
    why: 'this daemon works only on B and exits',
    action: 'start a daemon that stays: `baton`',
  }),
  global_slot: () => {
    const core = ready({ agent: { maxConcurrentAgents: 1 } });
    const other = running().claim('A');
    return {
      rules: explain(core, { claims: { B: { ...other, issue: issue('B') } }, runs: { 'run-B': 'B' } }),
      why: 'no free slot: agent.max_concurrent_agents is 1, all taken by B',
      action: 'wait, or raise agent.max_concurrent_agents',
    };
  },
  state_slot: () => {
    const core = ready({ agent: { maxConcurrentAgentsByState: { todo: 1 } } });
    const other = running().claim('A');
    return {
      rules: explain(core, { claims: { B: { ...other, issue: issue('B') } }, runs: { 'run-B': 'B' } }),
      why: 'no free slot for issues in "Todo": agent.max_concurrent_agents_by_state',
      action: 'wait, or raise the limit of "Todo" in agent.max_concurrent_agents_by_state',
    };
  },
  read_answered: () => ({
    rules: explain(ready(), { read: { seq: 9 } }),
    why: 'it is read once more before it starts',
    action: 'wait: it takes a moment',
  }),
};

/** DESIGN.md, section 4, in its own words and order: what keeps an issue from being started, and the rules that tell it. */
const DESIGN: { readonly [statement: string]: readonly string[] } = {
  'Eligible: id, identifier, title, state present': ['complete'],
  'state active and not terminal': ['active_state', 'not_terminal'],
  'dispatchable (and its blockers finished)': ['dispatchable', 'not_blocked', 'blockers_at_rest'],
  'author trusted (where the adapter knows)': ['trusted_author'],
  'required labels': ['required_labels'],
  'not claimed: running (or being ended), asking, waiting, parked': [
    'not_being_stopped',
    'no_open_question',
    'due',
    'not_parked',
    'processes_gone',
  ],
  'a global slot and a per-state slot free': ['global_slot', 'state_slot'],
  'no hold; one probe run at backoff': [
    'no_hold_workflow',
    'no_hold_store',
    'no_hold_tracker',
    'no_hold_disk',
    'no_hold_budget',
    'no_hold_agent',
    'probe_turn',
  ],
  'Filled after one batched read by id': ['read_answered'],
  'Not while the last poll failed': ['tracker_readable', 'tracker_read'],
  'Not while it is older than two intervals': ['reading_fresh'],
  'Not while the tracker is rate-limited': ['not_rate_limited'],
  'Reconcile: terminal → remove the workspace': ['not_being_removed'],
  'Failure: budget per issue parks': ['budget_left'],
  'Shutdown: no new work': ['not_shutting_down'],
  'Changed settings: no new work until no run is active': ['not_reopening'],
  pause: ['not_paused'],
  '--once, --issue': ['wanted'],
};

describe('explain', () => {
  test('has a rule for every statement of DESIGN.md section 4 that keeps an issue from running, and no other', () => {
    const told = explain(ready()).map(({ rule }) => rule);

    expect(Object.values(DESIGN).flat().sort()).toEqual([...told].sort());
  });

  test('has a case here for every rule', () => {
    const told = explain(ready()).map(({ rule }) => rule);

    expect(Object.keys(CASES).sort()).toEqual([...told].sort());
  });

  test.each(Object.entries(CASES))('%s can fail alone, with a reason and an action', (name, arrange) => {
    const { rules, why, action } = arrange();

    expect(failing(rules)).toEqual([{ rule: name, pass: false, why, action, params: expect.any(Object) }]);
  });

  test('of an issue whose blocker has a run names the blocker once', () => {
    const core = ready({}, { blocked_by: [{ id: 'B', identifier: 'AB-7', state: 'Todo' }] });
    const other = running().claim('A');

    const rules = explain(core, { claims: { B: { ...other, issue: issue('B') } }, runs: { 'run-B': 'B' } });

    expect(failing(rules).map(({ rule }) => rule)).toEqual(['not_blocked']);
  });

  test('of an issue that nothing keeps no rule fails', () => {
    expect(failing(explain(ready()))).toEqual([]);
  });

  test('of an issue that runs no rule fails, whatever keeps others from being started', () => {
    const core = running({ agent: { maxConcurrentAgents: 1 } });
    core.send({ type: 'pause_requested' });

    expect(failing(explain(core, { holds: { agent: held('agent_quota', null) } }))).toEqual([]);
  });

  test('lists every obstacle of the daemon, not only the first', () => {
    const core = ready();
    const { poll } = core.state;
    const failure = { code: 'tracker_auth', message: 'no', sinceMs: 0 } as const;

    const rules = explain(core, {
      pausedSinceMs: EPOCH_MS,
      poll: { ...poll, failure, lastOkAtMs: null, rateLimit: { remaining: 0, resetAtMs: EPOCH_MS + 1 } },
      holds: { tracker: held('tracker_auth', null), agent: held('agent_quota', EPOCH_MS + 1) },
    });

    expect(failing(rules).map(({ rule }) => rule)).toEqual([
      'not_paused',
      'not_rate_limited',
      'tracker_readable',
      'tracker_read',
      'no_hold_tracker',
      'no_hold_agent',
    ]);
  });

  test.each<[ParkReason, string]>([
    ['too_many_failures', 'see why with `baton logs A`, then `baton retry A`, or change the issue'],
    ['no_progress', '`baton retry A`, or change the issue'],
    ['budget', 'raise agent.max_tokens_per_issue, or grant a new budget with `baton retry A`'],
    ['stopped_by_operator', '`baton retry A`'],
    ['unkillable', 'once its processes are gone, `baton retry A`'],
    ['daemon_died', 'find out why the daemon died, then `baton retry A`, or change the issue'],
    ['configuration', 'remove the cause, then `baton retry A`, or change the issue'],
  ])('an issue that is parked as %s has a way out', (reason, action) => {
    expect(failing(explain(ready(), { claims: { A: parked(reason) } }))).toMatchObject([
      { rule: 'not_parked', action },
    ]);
  });

  test('an issue that was stopped with a question open can be answered or retried', () => {
    const question = { id: 'q', kind: 'approval', text: '?', fields: [] };
    const claims = { A: parked('stopped_by_operator', { question }) };

    expect(failing(explain(ready(), { claims }))).toMatchObject([{ action: '`baton answer A`, or `baton retry A`' }]);
  });

  test('a due retry skips the rules that apply only to a first start', () => {
    const core = running();
    core.fail('A');
    core.change('A', { title: '' });
    core.advance(20_000);
    const claims = { A: { ...core.claim('A'), issue: issue({ id: 'A', title: '' }) } };

    expect(failing(explain(core, { claims, read: null }))).toEqual([]);
    expect(started(core.answerRead())).toEqual(['A']);
  });

  test('an issue that the next reading finds unchanged waits longer, or is parked', () => {
    const core = running();
    core.exit('A');
    core.advance(1_000);
    const before = explain(core, { read: null });
    const { config } = core.state;
    const strict = { ...config, agent: { ...config.agent, maxRunsWithoutProgress: 1 } };
    const last = explain(core, { read: null, config: strict });

    expect(failing(before)).toMatchObject([
      { rule: 'due', why: `its next run is due at ${at(2_000)}: its last run left the issue unchanged` },
    ]);
    expect(failing(last)).toMatchObject([
      { rule: 'not_parked', why: 'it will be parked: 1 runs in a row left the issue as it was' },
    ]);
  });

  test('an issue behind others in line fails the slot rule while slots are free', () => {
    const core = ready({ agent: { maxConcurrentAgents: 1 } });
    const candidates = { ...core.state.candidates, B: issue({ id: 'B', labels: ['baton'], priority: 1 }) };

    expect(failing(explain(core, { candidates }))).toMatchObject([
      {
        rule: 'global_slot',
        why: 'no free slot: agent.max_concurrent_agents is 1, and others are before it in line',
        action: 'wait, or raise its priority in the tracker',
      },
    ]);
  });

  test.each<[string, ParkReason, string]>([
    ['$(rm -rf ~)', 'no_progress', "`baton retry '$(rm -rf ~)'`, or change the issue"],
    ['-rf', 'no_progress', '`baton retry -- -rf`, or change the issue'],
    ['A\0B', 'configuration', 'rename the issue in the tracker'],
  ])('the advice about an issue named %j can be followed', (identifier, reason, action) => {
    const claims = { A: { ...parked(reason), issue: issue({ id: 'A', identifier, labels: ['baton'] }) } };

    expect(failing(explain(ready(), { claims }))[0]?.action).toBe(action);
  });
});
