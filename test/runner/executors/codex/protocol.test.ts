import { expect, test } from 'vitest';
import {
  isKnownRequest,
  isProgress,
  isRetryNotice,
  parseMessage,
} from '../../../../runner/executors/codex/protocol.js';
import { growthOf } from '../../../support/growth.js';

const parse = (text: string) => parseMessage(Buffer.from(text));

test('S2-42 requests, notifications and replies are recognised with or without jsonrpc, and 0 is a valid id', () => {
  expect(parse('{"id":0,"method":"m","params":{"a":1}}')).toEqual({
    kind: 'request',
    id: 0,
    method: 'm',
    params: { a: 1 },
  });
  expect(parse('{"jsonrpc":"2.0","method":"m"}\r')).toEqual({ kind: 'notification', method: 'm', params: undefined });
  expect(parse('{"id":0,"result":null}')).toEqual({ kind: 'reply', id: 0, body: { result: null } });
  expect(parse('{"id":"","error":{"code":-1,"message":"no"}}')).toEqual({
    kind: 'reply',
    id: '',
    body: { error: { code: -1, message: 'no' } },
  });
});

test('blank lines are ignored', () => {
  expect(parse('')).toEqual({ kind: 'blank' });
  expect(parse(' \t\r')).toEqual({ kind: 'blank' });
});

test('S2-54 SEC-19 a line that is not a message is malformed and never throws', () => {
  const bad = [
    'nonsense',
    '[1]',
    '5',
    'null',
    '{}',
    '{"id":1}',
    '{"id":{},"method":"m"}',
    '{"id":1,"error":"x"}',
    '{"id":null,"result":1}',
  ];

  for (const text of bad) expect(parse(text).kind).toBe('malformed');
  expect(parseMessage(Buffer.from([0x7b, 0xff, 0x7d]))).toMatchObject({ kind: 'malformed', reason: 'not valid UTF-8' });
});

test('SEC-14 JSON nested a million levels deep is malformed, neither crashes nor blocks the event loop', async () => {
  expect(parse(`{"method":"m","params":${'['.repeat(1_000_000)}${']'.repeat(1_000_000)}}`)).toMatchObject({
    kind: 'malformed',
    reason: 'nested too deep',
  });
  expect(parse(`{"method":"m","params":${'{"a":'.repeat(1_000_000)}`).kind).toBe('malformed');
  const look = async (depth: number) => {
    const text = `{"method":"m","params":${'['.repeat(depth)}`;
    return () => parse(text);
  };
  expect(await growthOf(look, 200_000)).toBeLessThan(10);
});

test('brackets and escaped quotes inside a string do not count as nesting', () => {
  const text = '[{\\"[\\\\'.repeat(20_000);

  expect(parse(JSON.stringify({ method: 'm', params: { text, more: [[]] } }))).toMatchObject({
    kind: 'notification',
    params: { text },
  });
});

test.each([
  'turn/started',
  'turn/completed',
  'turn/plan/updated',
  'item/started',
  'item/completed',
  'item/agentMessage/delta',
  'item/commandExecution/outputDelta',
  'item/reasoning/textDelta',
  'item/mcpToolCall/progress',
  'rawResponseItem/completed',
  'serverRequest/resolved',
])('%s is progress', (method) => {
  expect(isProgress(method, {})).toBe(true);
});

test.each([
  ['account/rateLimits/updated', {}],
  ['thread/tokenUsage/updated', { turnId: 't' }],
  ['error', { willRetry: true, turnId: 't' }],
  ['warning', { threadId: 'x', turnId: 't' }],
  ['thread/status/changed', {}],
  ['fake/heartbeat', {}],
  ['mcpServer/startupStatus/updated', {}],
])('%s is not progress, so it cannot mask a stall', (method, params) => {
  expect(isProgress(method, params)).toBe(false);
});

test('an unknown notification is progress only when it names a turn', () => {
  expect(isProgress('model/thinking', { turnId: 'turn-1' })).toBe(true);
  expect(isProgress('model/thinking', { turnId: 5 })).toBe(false);
});

test('an error that ends the turn is not a retry notice', () => {
  expect(isRetryNotice('error', { willRetry: false })).toBe(false);
  expect(isProgress('error', { willRetry: false, turnId: 't' })).toBe(true);
});

test('approvals, questions and tool calls are known requests, others are not', () => {
  expect(isKnownRequest('item/tool/call')).toBe(true);
  expect(isKnownRequest('item/commandExecution/requestApproval')).toBe(true);
  expect(isKnownRequest('attestation/generate')).toBe(false);
});
