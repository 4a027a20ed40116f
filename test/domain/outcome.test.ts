import { describe, expect, test } from 'vitest';
import type { ErrorScope } from '../../src/domain/error-table.js';
import { RUN_ERRORS, STEP_ERRORS } from '../../src/domain/error-table.js';
import { BatonError, type ErrorCode, scopeOf } from '../../src/domain/errors.js';
import {
  type AbortReason,
  cancelled,
  type FailedOutcome,
  failure,
  failureOf,
  success,
} from '../../src/domain/outcome.js';

/** What the attempt loop does, and the error scope for it. */
const ATTEMPT_LOOP = { backoff: 'issue', hold: 'daemon', parked: 'park', none: 'none' } as const satisfies {
  readonly [word: string]: ErrorScope;
};

type Row = readonly [
  source: string,
  code: ErrorCode,
  state: FailedOutcome['state'],
  stepLoop: 'yes' | 'no',
  attemptLoop: keyof typeof ATTEMPT_LOOP,
];

const ROWS: readonly Row[] = [
  [
    'an external executor that fails, cannot start or does not read',
    'AGENT_INVOCATION_FAILED',
    'failed',
    'no',
    'backoff',
  ],
  ['S4-21 an external executor that times out', 'AGENT_TIMEOUT', 'timeout', 'yes', 'backoff'],
  ['an external executor killed from outside', 'AGENT_CANCELLED', 'cancelled', 'no', 'backoff'],

  ['an agent that does not answer', 'response_timeout', 'timeout', 'no', 'backoff'],
  ['an agent that exits during a turn', 'port_exit', 'failed', 'no', 'backoff'],
  ['a turn that times out', 'turn_timeout', 'timeout', 'no', 'backoff'],
  ['a turn that failed', 'turn_failed', 'failed', 'no', 'backoff'],
  ['a turn that was interrupted', 'turn_cancelled', 'failed', 'no', 'backoff'],
  ['an agent that answers with an error', 'response_error', 'failed', 'no', 'backoff'],
  ['an agent that cannot be started', 'spawn_failed', 'failed', 'no', 'backoff'],
  ['an agent that needs a person', 'turn_input_required', 'failed', 'no', 'parked'],
  ['a missing agent command', 'codex_not_found', 'failed', 'no', 'hold'],
  ['credentials that the model service rejects', 'agent_unauthorized', 'failed', 'no', 'hold'],
  ['an exhausted quota', 'agent_quota', 'failed', 'no', 'hold'],
  ['a missing model', 'agent_model_not_found', 'failed', 'no', 'hold'],
  ['an unreachable model service', 'agent_unreachable', 'failed', 'no', 'hold'],

  ['S4-19 S4-20 an unreachable service, or 5xx', 'SERVICE_UNAVAILABLE', 'failed', 'yes', 'backoff'],
  ['S4-21 a service that times out', 'SERVICE_TIMEOUT', 'timeout', 'yes', 'backoff'],
  ['S4-22 4xx, or an invalid response', 'SERVICE_REJECTED', 'failed', 'no', 'backoff'],
  ['code that fails or is killed', 'CODE_FAILED', 'failed', 'no', 'backoff'],

  ['a capability executor that does not connect', 'CONNECTION_FAILED', 'failed', 'yes', 'backoff'],
  ['S4-21 a capability that times out', 'EXECUTION_TIMEOUT', 'timeout', 'yes', 'backoff'],
  ['a capability executor that exits early', 'PROCESS_CRASHED', 'failed', 'no', 'backoff'],
  ['a capability that reports an error', 'CAPABILITY_FAILED', 'failed', 'no', 'backoff'],
  ['code that is not JavaScript', 'SYNTAX_ERROR', 'failed', 'no', 'backoff'],
  ['a missing entry point', 'ACTION_BLOCK_NOT_FOUND', 'failed', 'no', 'backoff'],
  ['parameters that a capability rejects', 'INVALID_REQUEST', 'failed', 'no', 'backoff'],

  ['S1-34 S4-22 a step that cannot be run as written', 'JobValidation', 'failed', 'no', 'hold'],
  ['S1-34 HTTP without a service', 'UnwiredHttpTransport', 'failed', 'no', 'hold'],
  ['S1-34 an invalid backend', 'invalid_backend', 'failed', 'no', 'hold'],
  ['S1-34 a missing executor', 'EXECUTOR_NOT_FOUND', 'failed', 'no', 'hold'],
  ['an invalid definition of an executor', 'INVALID_ACTION_BLOCK', 'failed', 'no', 'hold'],
  ['S1-34 a missing capability', 'CAPABILITY_NOT_FOUND', 'failed', 'no', 'hold'],

  ['an unresolvable token', 'step_data_error', 'failed', 'no', 'backoff'],
  ['a condition that is neither true nor false', 'expression_error', 'failed', 'no', 'backoff'],
  ['a loop with too many items', 'loop_too_long', 'failed', 'no', 'backoff'],
  ['a prompt that cannot be rendered', 'template_render_error', 'failed', 'no', 'backoff'],
  ['a hook that fails', 'hook_failed', 'failed', 'no', 'backoff'],
  ['a hook that times out', 'hook_timeout', 'failed', 'no', 'backoff'],
];

describe('outcome and retry', () => {
  test.each(ROWS)('%s: %s, %s; step loop: %s; attempt loop: %s', (_, code, state, stepLoop, attemptLoop) => {
    const outcome = failure(code, 'why', state === 'failed' ? {} : { state });

    expect(outcome).toEqual({ state, error: { code, message: 'why', retryable: stepLoop === 'yes' }, meta: {} });
    expect(scopeOf(code)).toBe(ATTEMPT_LOOP[attemptLoop]);
    expect(failureOf(new BatonError(code, 'why'), { state })).toEqual(outcome);
  });

  const STOPS: readonly (readonly [AbortReason, ...Row])[] = [
    ['terminal', 'the issue is done', 'CANCELLED_BY_ORCHESTRATOR', 'cancelled', 'no', 'none'],
    ['inactive', 'the issue moved', 'CANCELLED_BY_ORCHESTRATOR', 'cancelled', 'no', 'none'],
    ['unroutable', 'the issue is for others', 'CANCELLED_BY_ORCHESTRATOR', 'cancelled', 'no', 'none'],
    ['gone', 'the issue is gone', 'CANCELLED_BY_ORCHESTRATOR', 'cancelled', 'no', 'none'],
    ['sibling', 'a parallel step decided', 'CANCELLED_BY_ORCHESTRATOR', 'cancelled', 'no', 'none'],
    ['shutdown', 'the daemon shuts down', 'INTERRUPTED', 'cancelled', 'no', 'none'],
    ['day_budget', 'the budget of the day is spent', 'INTERRUPTED', 'cancelled', 'no', 'none'],
    ['operator', '`baton stop`', 'STOPPED_BY_OPERATOR', 'cancelled', 'no', 'parked'],
    ['budget', 'the budget of the issue is spent', 'budget_exceeded', 'cancelled', 'no', 'parked'],
    ['stalled', 'no progress', 'stall_timeout', 'cancelled', 'no', 'backoff'],
    ['input_timeout', 'no answer in time', 'turn_input_required', 'failed', 'no', 'parked'],
    ['step_timeout', 'a step over its time', 'turn_timeout', 'timeout', 'no', 'backoff'],
  ];

  test.each(STOPS)(
    'stopped as %s, %s: %s, %s; step loop: %s; attempt loop: %s',
    (reason, _, code, state, stepLoop, attemptLoop) => {
      const outcome = cancelled(reason);

      expect(outcome).toMatchObject({ state, error: { code, retryable: stepLoop === 'yes' }, meta: {} });
      expect(scopeOf(code)).toBe(ATTEMPT_LOOP[attemptLoop]);
    },
  );

  test('a success has its output and no error', () => {
    expect(success({ a: 1 })).toEqual({ state: 'success', output: { a: 1 }, meta: {} });
  });

  test('a failure keeps its additional fields', () => {
    const outcome = failure('agent_quota', 'why', { resetAtMs: 5, meta: { turns: 2 } });

    expect(outcome.error).toEqual({ code: 'agent_quota', message: 'why', retryable: false, resetAtMs: 5 });
    expect(outcome.meta).toEqual({ turns: 2 });
  });

  test('S1-34 S4-22 a step is retried only for the codes marked so in the table', () => {
    const codes = Object.entries({ ...RUN_ERRORS, ...STEP_ERRORS });

    const retryable = codes.filter(([, facts]) => facts.retryable).map(([code]) => code);

    // Store errors belong to the daemon; no step ends with one.
    const wanted = ROWS.filter(([, , , stepLoop]) => stepLoop === 'yes').map(([, code]) => code);
    expect(retryable.toSorted()).toEqual([...wanted, 'store_failed'].toSorted());
  });

  test('S1-34 a step does not retry errors that hold the daemon or wait for a person', () => {
    const codes = Object.entries(STEP_ERRORS).filter(([, facts]) => facts.scope !== 'issue');

    expect(codes.filter(([, facts]) => facts.retryable)).toEqual([]);
  });

  test('every step error code has a row', () => {
    const rows = new Set(ROWS.map(([, code]) => code));

    expect(Object.keys(STEP_ERRORS).filter((code) => !rows.has(code as ErrorCode))).toEqual([]);
  });
});
