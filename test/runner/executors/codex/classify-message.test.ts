import { expect, test } from 'vitest';
import { OpenItems } from '../../../../runner/executors/codex/message-log.js';
import { isKnownRequest, isProgress, isRetryNotice } from '../../../../runner/executors/codex/protocol.js';

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
])('%s is not progress: it must not mask a stall', (method, params) => {
  expect(isProgress(method, params)).toBe(false);
});

test('a notification we do not know is progress only when it is about a turn', () => {
  expect(isProgress('model/thinking', { turnId: 'turn-1' })).toBe(true);
  expect(isProgress('model/thinking', { turnId: 5 })).toBe(false);
});

test('an error that ends the turn is no retry notice', () => {
  expect(isRetryNotice('error', { willRetry: false })).toBe(false);
  expect(isProgress('error', { willRetry: false, turnId: 't' })).toBe(true);
});

test('approvals, questions and tool calls are progress, unknown requests are not', () => {
  expect(isKnownRequest('item/tool/call')).toBe(true);
  expect(isKnownRequest('item/commandExecution/requestApproval')).toBe(true);
  expect(isKnownRequest('attestation/generate')).toBe(false);
});

const item = (id: string, type: string, threadId = 'a') => ({ threadId, item: { id, type } });

test('commands, tools and reasoning are open from their start to their end; messages never are', () => {
  const items = new OpenItems();
  for (const type of [
    'commandExecution',
    'mcpToolCall',
    'dynamicToolCall',
    'webSearch',
    'reasoning',
    'agentMessage',
    'userMessage',
  ]) {
    items.observe('item/started', item(type, type));
  }
  expect(items.count).toBe(5);

  items.observe('item/completed', item('commandExecution', 'commandExecution'));
  items.observe('item/completed', item('unknown', 'commandExecution'));

  expect(items.count).toBe(4);
});

test('a broken stream drops open reasoning and keeps a running command', () => {
  const items = new OpenItems();
  items.observe('item/started', item('1', 'reasoning'));
  items.observe('item/started', item('2', 'commandExecution'));

  items.dropReasoning();

  expect(items.count).toBe(1);
});

test('the end of a turn closes the items of its thread', () => {
  const items = new OpenItems();
  items.observe('item/started', item('1', 'reasoning', 'a'));
  items.observe('item/started', item('2', 'reasoning', 'b'));

  items.observe('turn/completed', { threadId: 'a' });

  expect(items.count).toBe(1);
});

test('an agent cannot open items without end', () => {
  const items = new OpenItems();
  for (let i = 0; i < 5_000; i++) items.observe('item/started', item(`i${i}`, 'reasoning'));
  items.observe('item/started', item('x'.repeat(1_000_000), 'reasoning'));

  expect(items.count).toBe(1_000);
});
