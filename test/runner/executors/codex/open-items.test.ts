import { expect, test } from 'vitest';
import { OpenItems } from '../../../../runner/executors/codex/open-items.js';
import { RateLimits, TokenUsage } from '../../../../runner/executors/codex/usage.js';

const item = (id: string, type: string, threadId = 'a') => ({ threadId, item: { id, type } });

test('commands, tools and reasoning are open items until they end; messages are not', () => {
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

test('a broken model stream closes open reasoning but not a running command', () => {
  const items = new OpenItems();
  items.observe('item/started', item('1', 'reasoning'));
  items.observe('item/started', item('2', 'commandExecution'));

  items.dropReasoning();

  expect(items.count).toBe(1);
});

test('the end of a turn closes the open items of its thread', () => {
  const items = new OpenItems();
  items.observe('item/started', item('1', 'reasoning', 'a'));
  items.observe('item/started', item('2', 'reasoning', 'b'));

  items.observe('turn/completed', { threadId: 'a' });

  expect(items.count).toBe(1);
});

test('the number of open items is bounded', () => {
  const items = new OpenItems();
  for (let i = 0; i < 5_000; i++) items.observe('item/started', item(`i${i}`, 'reasoning'));
  items.observe('item/started', item('x'.repeat(1_000_000), 'reasoning'));

  expect(items.count).toBe(1_000);
});

const NOW = Date.UTC(2026, 0, 1);
const seconds = (ms: number) => ms / 1_000;

test('the reset of a used-up limit is read in seconds or milliseconds', () => {
  const limits = new RateLimits();
  limits.update({
    rateLimits: {
      primary: { usedPercent: 100, resetsAt: seconds(NOW + 60_000) },
      secondary: { usedPercent: 10, resetsAt: NOW + 5_000 },
    },
  });

  expect(limits.resetAtMs(NOW)).toBe(NOW + 60_000);
});

test('a sparse update keeps the limits that it does not name, and a reset in the past does not count', () => {
  const limits = new RateLimits();
  limits.update({ rateLimits: { primary: { usedPercent: 50, resetsAt: seconds(NOW + 60_000) } } });
  limits.update({ rateLimits: { primary: null, secondary: null } });

  expect(limits.resetAtMs(NOW)).toBe(NOW + 60_000);
  expect(limits.resetAtMs(NOW + 60_001)).toBeUndefined();
});

test('invalid reset times are ignored', () => {
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

test('S2-61 SEC-15 totals are absolute per thread, and impossible totals are refused without a change', () => {
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
