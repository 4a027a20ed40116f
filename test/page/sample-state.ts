import type { DoneView, IneligibleView, ReadyView, RunningView, StateView } from '../../src/api/schemas.js';

/** A board as it looks on a working day. Times are relative to `nowMs`, so that a picture of it always looks the same. */
export const ago = (minutes: number, nowMs = Date.now()): string => new Date(nowMs - minutes * 60_000).toISOString();

export const named = (identifier: string, title: string, state = 'To Do') => ({
  issue_id: identifier.toLowerCase(),
  issue_identifier: identifier,
  issue_url: `https://tracker.example/${identifier}`,
  title,
  state,
});

export function runningEntry(identifier: string, title: string, part: Partial<RunningView> = {}): RunningView {
  return {
    ...named(identifier, title, 'In Progress'),
    run_id: `run-${identifier}`,
    run_number: 1,
    reason: 'first',
    attempt: null,
    phase: 'agent',
    step: null,
    asking: false,
    stopping: null,
    probe: false,
    session_id: 'thread-turn',
    turn_count: 1,
    last_event: 'item/completed',
    last_message: 'is thinking',
    last_message_event: 'item/started',
    started_at: ago(4),
    last_event_at: ago(0.1),
    tokens: { input_tokens: 120_000, cached_input_tokens: 80_000, output_tokens: 9_000, total_tokens: 129_000 },
    budget: { spent: 49_000, limit: 10_000_000 },
    ...part,
  };
}

export function readyEntry(identifier: string, title: string, part: Partial<ReadyView> = {}): ReadyView {
  const why = 'no free slot: agent.max_concurrent_agents is 4';
  return {
    ...named(identifier, title),
    priority: null,
    created_at: ago(900),
    retry: false,
    why,
    why_reason: null,
    ...part,
  };
}

export function ineligibleEntry(identifier: string, title: string, rule: string, why: string): IneligibleView {
  return { ...named(identifier, title), reasons: [{ rule, why, params: {} }] };
}

function doneEntry(identifier: string, title: string, minutes: number, part: Partial<DoneView> = {}): DoneView {
  return {
    ...named(identifier, title, 'Done'),
    finished_at: ago(minutes),
    terminal: true,
    runs: 1,
    tokens: 61_300,
    ...part,
  };
}

export const APPROVAL = {
  id: 'question-approval',
  kind: 'approval' as const,
  text: 'Run a command\nCommand: npm install --save-exact zod@4.6.7\nFolder: packages/api\nReason: the validation of request bodies needs it',
  fields: [],
};

export const INPUT = {
  id: 'question-input',
  kind: 'input' as const,
  text: 'Retention\nHow long should audit events be kept?',
  fields: [{ id: 'keep', label: 'How long should audit events be kept?', options: ['30 days', '90 days', 'For ever'] }],
};

/** Nothing at all: the first minute of a new daemon. */
export function emptyState(): StateView {
  return {
    generated_at: ago(0),
    daemon: {
      ...{ version: '0.1.0', pid: 4711, started_at: ago(312), state_dir: '~/.local/state/baton/2f6c1e0d' },
      isolation: 'pidns',
    },
    counts: { running: 0, asking: 0, retrying: 0, parked: 0, ready: 0, ineligible: 0, done: 0 },
    slots: { taken: 0, limit: 4 },
    why_idle: `No issue of the tracker is in an active state ("To Do", "In Progress"); it is read again at ${ago(-0.4)}.`,
    why_idle_reason: null,
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
    codex_totals: { input_tokens: 0, cached_input_tokens: 0, output_tokens: 0, total_tokens: 0, seconds_running: 0 },
    rate_limits: null,
    poll: {
      last: ago(0.2),
      next: ago(-0.4),
      in_flight: false,
      health: 'ok',
      error: null,
      error_code: null,
      failing_since: null,
      problems: [],
      slowed_to_ms: null,
      rate_limit: null,
    },
    workflow: {
      path: '~/shop/WORKFLOW.md',
      hash: 'c0ffee',
      loaded_at: ago(300),
      error: null,
      held: null,
      restart_required: [],
      restart_error: null,
      backend: { value: 'cli', source: 'built-in' },
      steps: 0,
    },
  };
}

/** With the counts that belong to its lists. */
export function stateWith(part: Partial<StateView>): StateView {
  const state = { ...emptyState(), why_idle: null, ...part };
  const { running, asking, retrying, parked, ready, ineligible, done } = state;
  const counts = {
    running: running.length,
    asking: asking.length,
    retrying: retrying.length,
    parked: parked.length,
    ready: ready.length,
    ineligible: ineligible.length,
    done: done.length,
  };
  return { ...state, counts, generated_at: ago(0) };
}

/** Something of everything. */
export function workingDay(): StateView {
  const asks = named('SHOP-218', 'Validate request bodies of the public API', 'In Progress');
  const parkedAsk = named('SHOP-197', 'Keep audit events and show them to admins', 'In Progress');
  return stateWith({
    slots: { taken: 4, limit: 4 },
    running: [
      runningEntry('SHOP-218', asks.title, { asking: true, started_at: ago(21), run_id: 'run-218' }),
      runningEntry('SHOP-224', 'Show delivery times on the product page', {
        started_at: ago(14.2),
        turn_count: 3,
        last_message: 'ran `npm test -- product`, exit 1 (8.4 s)',
        last_event_at: ago(0.2),
        budget: { spent: 1_240_000, limit: 10_000_000 },
      }),
      runningEntry('SHOP-231', 'Cart loses its coupon after a login', {
        started_at: ago(6.5),
        run_number: 2,
        reason: 'retry',
        turn_count: 1,
        last_message: 'edited 3 files, +42 −7',
        last_event_at: ago(0.05),
        budget: { spent: 8_310_000, limit: 10_000_000 },
      }),
      runningEntry('SHOP-233', 'Move the price formatting into one place', {
        started_at: ago(0.6),
        turn_count: 0,
        phase: 'preparing',
        last_message: 'hook after_create finished (3.1 s)',
        last_event_at: ago(0.3),
        budget: { spent: 0, limit: 10_000_000 },
      }),
    ],
    asking: [
      {
        ...asks,
        run_id: 'run-218',
        asked_at: ago(2),
        answer_until: ago(-8),
        on_timeout: 'park',
        questions: [APPROVAL],
      },
    ],
    parked: [
      {
        ...parkedAsk,
        reason: 'input_required',
        since: ago(190),
        message: 'The agent asked a person and got no answer in time.',
        question: INPUT,
        keeps_slot: false,
        failures: 0,
      },
      {
        ...named('SHOP-170', 'Speed up the image pipeline', 'In Progress'),
        reason: 'no_progress',
        since: ago(400),
        message: '3 runs ended well and left the issue as it was.',
        question: null,
        keeps_slot: false,
        failures: 0,
      },
    ],
    ready: [
      readyEntry('SHOP-236', 'Send the invoice as PDF', { priority: 1 }),
      readyEntry('SHOP-229', 'Translate the checkout into French', { priority: 2 }),
      readyEntry('SHOP-234', 'Delete carts that were left for 90 days'),
      readyEntry('SHOP-235', 'Log out everywhere after a change of the password'),
    ],
    retrying: [
      {
        ...named('SHOP-221', 'Retry failed webhooks with a backoff', 'In Progress'),
        attempt: 2,
        reason: 'retry',
        since: ago(1),
        due_at: ago(-3),
        due: false,
        error: 'The agent made no progress for 5 min (stall_timeout)',
        error_code: 'stall_timeout',
        failures: 2,
        runs_without_progress: 0,
      },
    ],
    done: [
      doneEntry('SHOP-228', 'Round totals the way the tax office does', 34, { tokens: 412_000, runs: 2 }),
      doneEntry('SHOP-226', 'Search finds products by their number', 96),
      doneEntry('SHOP-223', 'Warn when stock is low', 230, { state: 'In Review', terminal: false, tokens: 1_090_000 }),
    ],
    ineligible: [
      ineligibleEntry('SHOP-240', 'Redesign the home page', 'required_labels', 'it lacks the label "baton"'),
      ineligibleEntry('SHOP-239', 'Pay by invoice', 'not_blocked', 'it waits for SHOP-236 (To Do)'),
      ineligibleEntry('SHOP-238', 'New supplier import', 'required_labels', 'it lacks the label "baton"'),
    ],
    tokens_today: { spent: 14_200_000, limit: 40_000_000 },
    codex_totals: {
      input_tokens: 61_000_000,
      cached_input_tokens: 49_000_000,
      output_tokens: 2_300_000,
      total_tokens: 63_300_000,
      seconds_running: 31_000,
    },
    rate_limits: {
      primary: { usedPercent: 38, windowDurationMins: 300, resetsAt: Math.round(Date.now() / 1000) + 5_400 },
      secondary: { usedPercent: 61, windowDurationMins: 10_080, resetsAt: Math.round(Date.now() / 1000) + 260_000 },
    },
  });
}
