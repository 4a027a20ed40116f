import { expect, test } from 'vitest';
import { completion, failed, output, runLlm, stepOn, TOKEN } from './harness.js';
import { type Script, scriptedServer } from './scripted-server.js';

const start = async (script: Script, facts = {}) => {
  const server = await scriptedServer(script);
  return { server, step: await stepOn('gateway', server.url, {}, { step: facts }) };
};

test('S4-03 S4-27 S4-28 S4-29 model and prompt become one user message, and no setting without a value is sent', async () => {
  const { server, step } = await start(() => ({ json: completion() }), { timeoutMs: 5_000 });

  await runLlm(step, { model: 'm-big', prompt: 'Plan "x"\n' });

  expect(server.lines()).toEqual(['POST /v1/chat/completions']);
  expect(server.requests[0]?.body).toEqual({ model: 'm-big', messages: [{ role: 'user', content: 'Plan "x"\n' }] });
  expect(server.requests[0]?.headers).not.toHaveProperty('idempotency-key');
});

test('S4-28 max_tokens, temperature and stop are sent when they are set, zero too', async () => {
  const { server, step } = await start(() => ({ json: completion() }));

  await runLlm(step, { maxTokens: 10, temperature: 0, stop: ['END'] });

  expect(server.requests[0]?.body).toMatchObject({ max_tokens: 10, temperature: 0, stop: ['END'] });
});

test('S4-30 the output is the content of the first choice, the model that answered and the usage', async () => {
  const second = { index: 1, message: { content: 'another' } };
  const answer = { ...completion('A plan'), choices: [...completion('A plan').choices, second] };
  const { step } = await start(() => ({ json: answer }));

  expect(output(await runLlm(step))).toEqual({
    output: 'A plan',
    model_used: 'm-small-2026',
    usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 },
  });
});

test('S4-17 S4-30 members that the gateway leaves out are null, and an empty content is allowed', async () => {
  const { step } = await start(() => ({ json: { choices: [{ message: { content: '' } }] } }));

  expect(output(await runLlm(step))).toEqual({ output: '', model_used: null, usage: null });
});

test.each([
  ['no choices', { model: 'm' }],
  ['an empty list of choices', { choices: [] }],
  ['choices that are a map', { choices: { 0: { message: { content: 'x' } } } }],
  ['a choice without a message', { choices: [{}] }],
  ['a content of null', completion(null)],
  ['a content that is a list', completion([{ type: 'text', text: 'x' }])],
  ['a content by way of __proto__', JSON.parse('{"__proto__": {"choices": [{"message": {"content": "x"}}]}}')],
  ['a list', []],
  ['null', null],
])('S4-31 a 200 with %s is SERVICE_REJECTED', async (_, json) => {
  const { step } = await start(() => ({ json }));

  const error = failed(await runLlm(step));

  expect(error).toMatchObject({ code: 'SERVICE_REJECTED', retryable: false });
  expect(error.message).toContain('choices[0].message.content');
});

test('S4-31 an error that comes with a 200 is in the message', async () => {
  const { step } = await start(() => ({ json: { error: { message: 'the model is asleep' } } }));

  expect(failed(await runLlm(step)).message).toContain('the model is asleep');
});

test.each([
  ['AB-1:plan', 'AB-1:plan'],
  ['AB-1 plan', 'AB-1 plan'],
  ['AB-1\r\nX-Evil: 1', /^sha256-[0-9a-f]{64}$/],
  ['größer', /^sha256-[0-9a-f]{64}$/],
  [' x', /^sha256-[0-9a-f]{64}$/],
  ['x'.repeat(256), /^sha256-[0-9a-f]{64}$/],
])(
  'S4-14 S4-15 the idempotency key %j is sent as a header that can be sent, the same for each try',
  async (idempotencyKey, sent) => {
    const { server, step } = await start(() => ({ json: completion() }), { idempotencyKey });

    output(await runLlm(step));
    output(await runLlm(step));

    const [first, second] = server.requests.map(({ headers }) => headers['idempotency-key']);
    expect(first).toEqual(typeof sent === 'string' ? sent : expect.stringMatching(sent));
    expect(second).toBe(first);
    expect(server.requests[0]?.headers).not.toHaveProperty('x-evil');
  },
);

test('SEC-20 a token that the gateway repeats is masked in the output; other texts are not', async () => {
  const spelt = [TOKEN, encodeURIComponent(TOKEN), Buffer.from(TOKEN).toString('base64url'), JSON.stringify(TOKEN)];
  const server = await scriptedServer(() => ({ json: completion(`ü ${spelt.join(' ')}`) }));

  const masked = await runLlm(await stepOn('gateway', server.url));
  const short = await runLlm(await stepOn('gateway', server.url, {}, { env: { RUNNER_TOKEN: 'token' } }));

  expect(output(masked)).toMatchObject({ output: 'ü *** *** *** "***"' });
  expect(output(short)).toMatchObject({ output: `ü ${spelt.join(' ')}` });
});
