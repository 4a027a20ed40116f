import { expect, test } from 'vitest';
import { codeOfStall, codeOfTurnError } from '../../../../runner/executors/codex/agent-errors.js';
import { sandboxPolicyOf } from '../../../../runner/executors/codex/thread-config.js';
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
])('a turn that failed with %j has the code %s', (info, code) => {
  expect(codeOfTurnError(info)).toBe(code);
});

test('silence is a stall, but silence while reconnecting is an unreachable model service', () => {
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
] as const)('a run stopped with reason %s has the code %s', (reason, code, state) => {
  expect(cancelled(reason)).toMatchObject({ state, error: { code } });
});

test('S2-62 the turn policy for workspace-write allows workspace and TMPDIR, but neither the system temp folder nor the network', () => {
  expect(sandboxPolicyOf(config({ codex: { threadSandbox: 'workspace-write' } }).codex, '/w', '/t')).toEqual({
    type: 'workspaceWrite',
    writableRoots: ['/w', '/t'],
    networkAccess: false,
    excludeTmpdirEnvVar: true,
    excludeSlashTmp: true,
  });
});

test('by default no turn policy is sent, because it would discard the permission profile of the thread', () => {
  expect(sandboxPolicyOf(config().codex, '/w', '/t')).toBeNull();
});

test('S2-62 a turn policy of the user is passed on, and none is sent for another thread sandbox', () => {
  const own = { type: 'readOnly', networkAccess: false };

  expect(sandboxPolicyOf(config({ codex: { turnSandboxPolicy: own } }).codex, '/w', '/t')).toEqual(own);
  expect(sandboxPolicyOf(config({ codex: { threadSandbox: 'read-only' } }).codex, '/w', '/t')).toBeNull();
});
