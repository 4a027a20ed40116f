import { type StateView, stateShape } from '../../src/api/schemas.js';
import type { Frame } from '../../src/cli/status-lists.js';
import { paintOf } from '../../src/cli/terminal.js';

export const NOW = Date.parse('2026-11-18T12:00:00.000Z');

/** So many seconds before now, after it when negative. */
export function ago(seconds: number): string {
  return new Date(NOW - seconds * 1_000).toISOString();
}

export function frame(overrides: Partial<Frame> = {}): Frame {
  return {
    nowMs: NOW,
    width: 80,
    widest: 80,
    height: null,
    paint: paintOf(false),
    all: false,
    target: '',
    ...overrides,
  };
}

const TOKENS = { input_tokens: 0, cached_input_tokens: 0, output_tokens: 0, total_tokens: 0 };

/** The state of an idle daemon, overridden by `parts`. Counts are derived from the lists. */
export function stateWith(parts: Partial<StateView> = {}): StateView {
  const lists = {
    running: parts.running ?? [],
    asking: parts.asking ?? [],
    retrying: parts.retrying ?? [],
    parked: parts.parked ?? [],
    ready: parts.ready ?? [],
    ineligible: parts.ineligible ?? [],
    done: parts.done ?? [],
  };
  const counts = Object.fromEntries(Object.entries(lists).map(([name, list]) => [name, list.length]));
  return stateShape.parse({
    generated_at: ago(0),
    daemon: { version: '0.1.0', pid: 4242, started_at: ago(3 * 3600 + 12 * 60), state_dir: '/state' },
    counts,
    slots: { taken: lists.running.length, limit: 3 },
    why_idle: null,
    why_idle_reason: null,
    ...lists,
    hold: null,
    holds: [],
    paused: null,
    shutting_down: false,
    tokens_today: { spent: 1_234_567, limit: 5_000_000 },
    codex_totals: { ...TOKENS, seconds_running: 0 },
    rate_limits: null,
    poll: {
      last: ago(12),
      next: ago(-18),
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
      path: '/home/me/project/WORKFLOW.md',
      hash: 'abc',
      loaded_at: ago(600),
      error: null,
      held: null,
      restart_required: [],
      restart_error: null,
      backend: { value: 'cli', source: 'default' },
      steps: 0,
    },
    ...parts,
  });
}

export function named(number: number, title: string) {
  const identifier = `TASK-${number}`;
  return { issue_id: `id-${number}`, issue_identifier: identifier, issue_url: null, title, state: 'To Do' };
}

export function runningRun(
  number: number,
  title: string,
  more: Partial<StateView['running'][number]> = {},
): StateView['running'][number] {
  return {
    ...named(number, title),
    ...{ run_id: `run-${number}`, run_number: 1, reason: 'first', attempt: null, phase: 'agent', step: null },
    ...{ asking: false, stopping: null, probe: false, session_id: null, turn_count: 1, last_event: null },
    ...{ last_message: null, last_message_event: null, started_at: ago(240), last_event_at: ago(5), tokens: TOKENS },
    budget: { spent: 120_000, limit: 10_000_000 },
    ...more,
  };
}

export function readyIssue(number: number, title: string, why: string | null = null): StateView['ready'][number] {
  return { ...named(number, title), priority: null, created_at: null, retry: false, why, why_reason: null };
}

export function waitingIssue(
  number: number,
  title: string,
  more: Partial<StateView['retrying'][number]> = {},
): StateView['retrying'][number] {
  return {
    ...named(number, title),
    ...{ attempt: 2, reason: 'retry', since: ago(60), due_at: ago(-45), due: false, error: null, error_code: null },
    ...{ failures: 0, runs_without_progress: 0 },
    ...more,
  };
}

export function parkedIssue(
  number: number,
  title: string,
  more: Partial<StateView['parked'][number]> = {},
): StateView['parked'][number] {
  return {
    ...named(number, title),
    ...{ reason: 'no_progress', since: ago(7200), message: '3 runs left the issue as it was' },
    ...{ question: null, keeps_slot: false, failures: 0 },
    ...more,
  };
}

export function doneIssue(number: number, title: string, more: Partial<StateView['done'][number]> = {}) {
  return { ...named(number, title), finished_at: ago(5400), terminal: true, runs: 1, tokens: 45_678, ...more };
}
