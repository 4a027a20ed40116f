import { expect, test } from 'vitest';
import { parseMessage } from '../../../../runner/executors/codex/protocol.js';
import { boundData } from '../../../../runner/executors/codex/reporter.js';
import { growthOf } from '../../../support/growth.js';

const parse = (text: string) => parseMessage(Buffer.from(text));

test('S2-42 requests, notifications and replies are told apart, with or without jsonrpc, and id 0 is an id', () => {
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

test('blank lines are nothing', () => {
  expect(parse('')).toEqual({ kind: 'blank' });
  expect(parse(' \t\r')).toEqual({ kind: 'blank' });
});

test('S2-54 SEC-19 whatever is no message is malformed, and never throws', () => {
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

test('SEC-14 JSON nested a million deep is malformed, without a crash and without holding anybody up', async () => {
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

test('SEC-14 what nests deeply but fits a short line is bounded when it is reported', () => {
  const deep = parse(`{"method":"m","params":${'['.repeat(30_000)}${']'.repeat(30_000)}}`);

  expect(deep.kind).toBe('notification');
  expect(JSON.stringify(boundData(deep)).length).toBeLessThan(200);
});

test('brackets and escaped quotes inside a string are not nesting', () => {
  const text = '[{\\"[\\\\'.repeat(20_000);

  expect(parse(JSON.stringify({ method: 'm', params: { text, more: [[]] } }))).toMatchObject({
    kind: 'notification',
    params: { text },
  });
});

test('SEC-14 a __proto__ key stays a key', () => {
  const bounded = boundData(JSON.parse('{"__proto__":{"polluted":true},"a":1}'));

  expect(Object.hasOwn(bounded, '__proto__')).toBe(true);
  expect(Object.getPrototypeOf(bounded)).toBe(Object.prototype);
  expect('polluted' in {}).toBe(false);
});

test('data of events is bounded in length, breadth and depth', () => {
  const wide = Object.fromEntries(Array.from({ length: 10_000 }, (_, i) => [`key${i}`, 'x'.repeat(10_000)]));

  expect(JSON.stringify(boundData(wide)).length).toBeLessThan(40_000);
  expect(boundData({ text: 'y'.repeat(3_000) }).text).toMatch(/^y{2000}… \(1000 more characters\)$/);
  expect(boundData([1, Number.POSITIVE_INFINITY])).toEqual({ value: [1, 'Infinity'] });
});
