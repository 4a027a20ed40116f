import { createHmac } from 'node:crypto';
import { describe, expect, onTestFinished, test } from 'vitest';
import { openWebhooks } from '../../src/daemon/webhooks.js';
import { createLogger } from '../../src/logging/logger.js';
import { createRedactor } from '../../src/logging/redact.js';
import { githubTracker } from '../../src/tracker/github/tracker.js';
import { localTracker } from '../../src/tracker/local/tracker.js';
import type { TrackerEntry } from '../../src/tracker/registry.js';
import { FakeClock } from '../support/fake-clock.js';

const SECRET = '0123456789-webhook-secret';

interface Given {
  readonly entry?: TrackerEntry;
  readonly port?: number | null;
  readonly secret?: string | null;
}

function parts({ entry = githubTracker, port = 0, secret = '$HOOK_SECRET' }: Given = {}) {
  const clock = new FakeClock();
  const lines: { readonly [key: string]: unknown }[] = [];
  const stream = { write: (line: string) => lines.push(JSON.parse(line)) };
  let polls = 0;
  const tracker = { kind: entry.kind, provider: {}, ...entry.defaults, activeStates: [], terminalStates: [] };
  return {
    ...{ clock, lines, entry, polls: () => polls, env: { HOOK_SECRET: ` ${SECRET}\n`, EMPTY: '' } },
    config: {
      webhooks: { port, host: '127.0.0.1', secret },
      tracker: { ...tracker, requiredLabels: [], trust: null, mentions: false },
    },
    log: createLogger({ level: 'debug', redactor: createRedactor(), stream, pretty: false }),
    announce: () => void polls++,
  };
}

async function listening() {
  const given = parts();
  const server = await openWebhooks(given);
  onTestFinished(async () => server?.close());
  const url = String(given.lines[0]?.url);
  const post = async (body: string, secret = SECRET) => {
    const signature = `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`;
    const { status } = await fetch(url, { method: 'POST', body, headers: { 'x-hub-signature-256': signature } });
    return status;
  };
  return { ...given, server, post };
}

describe('webhooks lead to polls', () => {
  test('many in a row to one, two seconds after the first', async () => {
    const { clock, post, polls } = await listening();

    for (let n = 0; n < 5; n++) {
      await post(`{"n":${n}}`);
      clock.advance(400);
      expect(polls()).toBe(n === 4 ? 1 : 0);
    }
  });

  test('one after another poll waits, so that a busy tracker is not polled all the time', async () => {
    const { clock, post, polls } = await listening();
    let at = 0;
    const after: number[] = [];

    for (; at < 60; at++) {
      await post(`{"n":${at}}`);
      const before = polls();
      clock.advance(1_000);
      if (polls() > before) after.push(at + 1);
    }

    expect(after).toEqual([2, 12, 22, 32, 42, 52]);
  });

  test('a forged or repeated webhook does not', async () => {
    const { clock, post, polls } = await listening();
    await post('{"n":1}');
    clock.advance(20_000);

    const statuses = [await post('{"n":2}', 'a-secret-that-is-not-ours'), await post('{"n":1}')];
    clock.advance(20_000);

    expect(statuses).toEqual([401, 409]);
    expect([polls(), clock.pendingTimers]).toEqual([1, 0]);
  });

  test('none after the end', async () => {
    const { clock, post, polls, server } = await listening();
    await post('{}');

    await server?.close();
    clock.advance(20_000);

    expect([polls(), clock.pendingTimers]).toEqual([0, 0]);
  });
});

test('rejected requests are logged once a minute with their number', async () => {
  const { clock, post, lines } = await listening();
  const told = () => lines.filter(({ msg }) => msg === 'webhook refused').map(({ count }) => count);

  for (let n = 0; n < 5; n++) await post('{}', 'a-secret-that-is-not-ours');
  clock.advance(60_000);
  await post('{}', 'a-secret-that-is-not-ours');

  expect(told()).toEqual([1, 5]);
  expect(JSON.stringify(lines)).not.toContain(SECRET);
});

describe('settings', () => {
  test('without a port nothing listens', async () => {
    expect(await openWebhooks(parts({ port: null, secret: null }))).toBeNull();
  });

  test.each([
    ['no secret', { secret: null }, 'webhooks.secret is missing'],
    ['a variable that is not set', { secret: '$NOWHERE' }, '$NOWHERE'],
    ['a variable that is empty', { secret: '$EMPTY' }, '$EMPTY'],
    ['a short secret', { secret: 'short-and-bad' }, 'less than 16 characters'],
    ['a tracker without webhooks', { entry: localTracker }, 'webhooks of local'],
  ])('%s is an error', async (_what, given, message) => {
    const error = await openWebhooks(parts(given)).catch((thrown: unknown) => thrown);

    expect(error).toMatchObject({ code: 'invalid_workflow_config', message: expect.stringContaining(message) });
    expect((error as Error).message).not.toContain('short-and-bad');
  });
});
