import { expect, test } from 'vitest';
import { RateLimits, TokenUsage } from '../../../../runner/executors/codex/message-log.js';
import { sandboxPolicyOf } from '../../../../runner/executors/codex/session.js';
import { codeOfStall, codeOfTurnError } from '../../../../runner/executors/codex/turn.js';
import { cancelled } from '../../../../src/domain/outcome.js';
import { config } from '../../../support/builders.js';

test.each([
  ['unauthorized', 'agent_unauthorized'],
  [{ httpConnectionFailed: { httpStatusCode: 401 } }, 'agent_unauthorized'],
  [{ httpConnectionFailed: { httpStatusCode: 403 } }, 'agent_unauthorized'],
  ['usageLimitExceeded', 'agent_quota'],
  ['rateLimitExceeded', 'agent_quota'],
  [{ responseTooManyFailedAttempts: { httpStatusCode: 429 } }, 'agent_quota'],
  ['modelNotFound', 'agent_model_not_found'],
  [{ httpConnectionFailed: { httpStatusCode: null } }, 'agent_unreachable'],
  [{ responseStreamConnectionFailed: {} }, 'agent_unreachable'],
  [{ httpConnectionFailed: { httpStatusCode: 503 } }, 'agent_unreachable'],
  ['serverOverloaded', 'agent_unreachable'],
  [{ httpConnectionFailed: { httpStatusCode: 500 } }, 'turn_failed'],
  ['contextWindowExceeded', 'turn_failed'],
  ['internalServerError', 'turn_failed'],
  ['other', 'turn_failed'],
  ['__proto__', 'turn_failed'],
  [{ somethingNew: {} }, 'turn_failed'],
  [null, 'turn_failed'],
  [undefined, 'turn_failed'],
])('a turn that fails with %j is %s', (info, code) => {
  expect(codeOfTurnError(info)).toBe(code);
});

test('silence is a stall; silence while the agent was reconnecting is a model service that is gone', () => {
  expect(codeOfStall(null)).toBe('stall_timeout');
  expect(codeOfStall({ codexErrorInfo: { responseStreamDisconnected: { httpStatusCode: 500 } } })).toBe(
    'agent_unreachable',
  );
  expect(codeOfStall({ codexErrorInfo: { responseStreamDisconnected: { httpStatusCode: 401 } } })).toBe(
    'agent_unauthorized',
  );
  expect(codeOfStall({ codexErrorInfo: 'other' })).toBe('agent_unreachable');
});

test.each([
  ['terminal', 'CANCELLED_BY_ORCHESTRATOR', 'cancelled'],
  ['inactive', 'CANCELLED_BY_ORCHESTRATOR', 'cancelled'],
  ['unroutable', 'CANCELLED_BY_ORCHESTRATOR', 'cancelled'],
  ['gone', 'CANCELLED_BY_ORCHESTRATOR', 'cancelled'],
  ['stalled', 'stall_timeout', 'cancelled'],
  ['budget', 'budget_exceeded', 'cancelled'],
  ['day_budget', 'INTERRUPTED', 'cancelled'],
  ['input_timeout', 'turn_input_required', 'failed'],
  ['operator', 'STOPPED_BY_OPERATOR', 'cancelled'],
  ['shutdown', 'INTERRUPTED', 'cancelled'],
] as const)('a run stopped for %s is %s', (reason, code, state) => {
  expect(cancelled(reason)).toMatchObject({ state, error: { code } });
});

const NOW = Date.UTC(2026, 0, 1);
const seconds = (ms: number) => ms / 1_000;

test('the reset of a used-up limit is known, in seconds or milliseconds', () => {
  const limits = new RateLimits();
  limits.update({
    rateLimits: {
      primary: { usedPercent: 100, resetsAt: seconds(NOW + 60_000) },
      secondary: { usedPercent: 10, resetsAt: NOW + 5_000 },
    },
  });

  expect(limits.resetAtMs(NOW)).toBe(NOW + 60_000);
});

test('a sparse update keeps what it does not name, and a reset in the past is no reset', () => {
  const limits = new RateLimits();
  limits.update({ rateLimits: { primary: { usedPercent: 50, resetsAt: seconds(NOW + 60_000) } } });
  limits.update({ rateLimits: { primary: null, secondary: null } });

  expect(limits.resetAtMs(NOW)).toBe(NOW + 60_000);
  expect(limits.resetAtMs(NOW + 60_001)).toBeUndefined();
});

test('nonsense in rate limits is no reset', () => {
  const limits = new RateLimits();
  for (const resetsAt of [-1, 0, Number.NaN, Number.POSITIVE_INFINITY, 1e300, 'soon', null]) {
    limits.update({ rateLimits: { primary: { usedPercent: 100, resetsAt } } });
  }
  limits.update({ rateLimits: 5 });

  expect(limits.resetAtMs(NOW)).toBeUndefined();
});

const usage = (inputTokens: unknown, cachedInputTokens: unknown, outputTokens: unknown, threadId: unknown = 't') => ({
  threadId,
  tokenUsage: { total: { inputTokens, cachedInputTokens, outputTokens } },
});

test('S2-61 SEC-15 totals are absolute per thread; what cannot be true is refused and changes nothing', () => {
  const tokens = new TokenUsage();
  expect(tokens.read(usage(10, 2, 3))).toEqual({
    kind: 'totals',
    threadId: 't',
    totals: { input: 10, cached: 2, output: 3 },
  });
  const lies = [
    usage(-1, 0, 3),
    usage(9, 2, 3),
    usage(10, 1, 3),
    usage(Number.POSITIVE_INFINITY, 2, 3),
    usage(10.5, 2, 3),
    usage(2 ** 53, 2, 3),
    usage('11', 2, 3),
    usage(11, 12, 3),
    usage(11, 2, 3, null),
    {},
  ];

  for (const lie of lies) expect(tokens.read(lie).kind).toBe('refused');

  expect(tokens.totalsOf('t')).toEqual({ input: 10, cached: 2, output: 3 });
  expect(tokens.read(usage(1, 0, 1, 'another')).kind).toBe('totals');
});

test('S2-62 the default turn policy opens workspace and TMPDIR, and neither system temp nor network', () => {
  expect(sandboxPolicyOf(config().codex, '/w', '/t')).toEqual({
    type: 'workspaceWrite',
    writableRoots: ['/w', '/t'],
    networkAccess: false,
    excludeTmpdirEnvVar: true,
    excludeSlashTmp: true,
  });
});

test('S2-62 a policy of the user is passed on, and another thread sandbox is not undone by a default', () => {
  const own = { type: 'readOnly', networkAccess: false };

  expect(sandboxPolicyOf(config({ codex: { turnSandboxPolicy: own } }).codex, '/w', '/t')).toEqual(own);
  expect(sandboxPolicyOf(config({ codex: { threadSandbox: 'read-only' } }).codex, '/w', '/t')).toBeNull();
});
