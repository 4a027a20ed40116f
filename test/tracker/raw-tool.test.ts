import { expect, test } from 'vitest';
import { BatonError } from '../../src/domain/errors.js';
import { createRedactor } from '../../src/logging/redact.js';
import { type RawResult, rawTool, ToolRefusal } from '../../src/tracker/raw-tool.js';
import { issue } from '../support/builders.js';

const TOKEN = 'canary-token-0123456789';
const OWN = issue({ id: 'A', state: 'Todo' });

function toolWith(
  result: RawResult | Error,
  { isChange = false, stateOf = async (): Promise<string | null> => 'Todo' } = {},
) {
  const redactor = createRedactor([TOKEN]);
  const tool = rawTool({
    ...{ name: 'x_api', description: 'd', inputSchema: {}, stateOf },
    mask: (text) => redactor.mask(text),
    plan: () => ({
      isChange,
      send: async () => {
        if (result instanceof Error) throw result;
        return result;
      },
    }),
  });
  return async (input: unknown = {}) => {
    const told = await tool.call(input, { issue: OWN, runId: 'r' });
    return { ...told, json: JSON.parse(told.text) };
  };
}

const read = (body: unknown): RawResult => ({ ok: true, body });

test.each([
  [new ToolRefusal('not there'), 'refused', 'not there'],
  [new BatonError('tracker_status', 'broken'), 'tracker_status', 'broken'],
])('a failure is told with its code: %s', async (error, code, message) => {
  const { success, json } = await toolWith(error)();

  expect(success).toBe(false);
  expect(json).toEqual({ error: { code, message } });
});

test('a limit of the tracker says until when, and that to try again is no use', async () => {
  const limit = new BatonError('tracker_rate_limited', 'Later.', { resetAtMs: 77 });

  const { success, limitedUntilMs, json } = await toolWith(limit)();

  expect([success, limitedUntilMs]).toEqual([false, 77]);
  expect(json.error).toEqual({ code: 'tracker_rate_limited', message: expect.stringContaining('end your turn') });
});

test.each([
  ['as it is', TOKEN],
  ['as Basic authorisation', Buffer.from(`ann@example.org:${TOKEN}`).toString('base64')],
  ['in base64url', Buffer.from(`x${TOKEN}`).toString('base64url')],
  ['in a query', encodeURIComponent(`${TOKEN}/`)],
  ['as JSON in JSON', JSON.stringify({ token: TOKEN })],
])('SEC-20 a secret is stripped from an answer: %s', async (_how, text) => {
  const { text: told } = await toolWith(read({ echo: text, [text]: 1 }))();

  expect(told).not.toContain(TOKEN);
  expect(told).not.toContain(text);
  expect(told).toContain('***');
});

test('SEC-20 a secret is stripped from a failure', async () => {
  const { text } = await toolWith(new BatonError('tracker_status', `they said ${TOKEN}`))();

  expect(text).not.toContain(TOKEN);
});

test('a long answer is cut, stays JSON, and no secret survives at the cut', async () => {
  const { success, text, json } = await toolWith(read(`${'x'.repeat(49_980)}${TOKEN}${'"'.repeat(400_000)}`))();

  expect(success).toBe(true);
  expect(json.truncated).toBe(true);
  expect(text.length).toBeLessThan(160_000);
  expect(text).not.toContain(TOKEN.slice(0, 10));
});

test('an answer that is nested too deeply is a failure that can be read', async () => {
  const deep = JSON.parse(`${'['.repeat(100_000)}${']'.repeat(100_000)}`);

  const { success, json } = await toolWith(read(deep))();

  expect([success, json.error.code]).toEqual([false, 'tracker_response']);
});

test('too much is not sent', async () => {
  const { json } = await toolWith(read(null))({ body: 'x'.repeat(200_001) });

  expect(json.error.code).toBe('invalid_input');
});

test('input that is nested too deeply is a failure that can be read', async () => {
  const body = JSON.parse(`${'['.repeat(100_000)}${']'.repeat(100_000)}`);

  const { success, json } = await toolWith(read(null))({ body });

  expect([success, json.error.code]).toEqual([false, 'invalid_input']);
});

const DOWN = new Error('down');
test.each<[string, boolean, readonly (string | Error)[], string | undefined]>([
  ['that the change moved has moved', true, ['Todo', 'Done'], 'Done'],
  ['that is spelt otherwise has not', true, ['Todo', ' todo'], undefined],
  ['that a person had moved before has not', true, ['Done', 'Done'], undefined],
  ['that cannot be read before is changed all the same', true, [DOWN, 'Done'], undefined],
  ['that cannot be read again is changed all the same', true, ['Todo', DOWN], undefined],
  ['that was only read has not', false, ['Todo', 'Done'], undefined],
])('an issue %s', async (_what, isChange, looks, movedTo) => {
  let look = 0;
  const stateOf = async () => {
    const seen = looks[look++] ?? DOWN;
    if (seen instanceof Error) throw seen;
    return seen;
  };

  const told = await toolWith({ ok: true, body: {} }, { isChange, stateOf })();

  expect([told.success, told.movedTo]).toEqual([true, movedTo]);
});

test('a change is told to have moved the issue, however deep its answer is', async () => {
  const states = ['Todo', 'Done'];
  const body = JSON.parse(`${'['.repeat(100_000)}${']'.repeat(100_000)}`);

  const told = await toolWith({ ok: true, body }, { isChange: true, stateOf: async () => states.shift() ?? null })();

  expect([told.json.error.code, told.movedTo]).toEqual(['tracker_response', 'Done']);
});
