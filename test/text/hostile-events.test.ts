import fc from 'fast-check';
import { expect, test } from 'vitest';
import { failure } from '../../src/domain/outcome.js';
import { RUNTIME_EVENT_TYPES } from '../../src/domain/run-signal.js';
import { describeOutcome, sentenceOf } from '../../src/text/run-sentences.js';

const EVENT = { type: 'notification', timestamp: '2026-11-16T00:00:00.000Z', pid: 1 } as const;

test('what agents wrote is one line without control characters, however hostile', () => {
  const item = {
    type: 'agentMessage',
    id: 'm',
    text: '\u001b[2Jred\u0007 \u202eevil\r\nnext\u2028line \ud800 \u0000end',
  };

  expect(sentenceOf({ ...EVENT, method: 'item/completed', data: { item } })).toBe(
    'said: \\u001b[2Jred\\u0007 \\u202eevil next line \ufffd \\u0000end',
  );
});

const HARMLESS = /^[^\p{Cc}\p{Cs}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]*$/u;
const TEXT = fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom('\u001b[2J', 'a\nb', '\ud800', 'x'.repeat(5_000)));
const ODD = fc.oneof(
  TEXT,
  fc.jsonValue(),
  fc.constantFrom(null, Number.MAX_VALUE, -1, [], {}, { toString: 1 }, [{ toString: 1 }]),
);
const TYPES = [
  'commandExecution',
  'fileChange',
  'agentMessage',
  'reasoning',
  'dynamicToolCall',
  'mcpToolCall',
  'webSearch',
  'plan',
];
const ITEM = fc.record({
  type: fc.constantFrom(...TYPES, 'toString'),
  ...Object.fromEntries(
    ['text', 'command', 'exitCode', 'durationMs', 'status', 'changes', 'summary', 'tool', 'server', 'arguments'].map(
      (key) => [key, ODD],
    ),
  ),
  contentItems: fc.array(fc.record({ text: ODD })),
  error: fc.record({ message: ODD }),
});
const DATA = fc.record(
  {
    ...Object.fromEntries(
      ['message', 'code', 'turn', 'question', 'warning', 'tool', 'command', 'reason', 'answered', 'plan'].map((key) => [
        key,
        ODD,
      ]),
    ),
    item: fc.oneof(ITEM, ODD),
    error: fc.oneof(fc.record({ message: ODD }), ODD),
    questions: fc.oneof(fc.array(fc.record({ question: ODD })), ODD),
  },
  { requiredKeys: [] },
);
const METHODS = [
  'item/started',
  'item/completed',
  'error',
  'warning',
  'turn/plan/updated',
  'item/tool/requestUserInput',
  'item/commandExecution/requestApproval',
  'toString',
];

test('no event throws, breaks the line, or goes on for ever', () => {
  fc.assert(
    fc.property(fc.constantFrom(...RUNTIME_EVENT_TYPES), fc.constantFrom(...METHODS), DATA, (type, method, data) => {
      const sentence = sentenceOf({ type, method, timestamp: '', pid: null, data: data as never });

      if (sentence === null) return;
      expect(sentence).toMatch(HARMLESS);
      expect(sentence).not.toBe('');
      expect(Array.from(sentence).length).toBeLessThanOrEqual(300);
    }),
    { numRuns: 3_000 },
  );
});

test('the end of a run is one line, whatever the message', () => {
  fc.assert(
    fc.property(TEXT, (text) => {
      expect(describeOutcome(failure('turn_failed', text))).toMatch(HARMLESS);
    }),
  );
});
