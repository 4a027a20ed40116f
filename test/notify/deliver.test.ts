import { describe, expect, test } from 'vitest';
import type { Target } from '../../src/notify/deliver.js';
import { createNotifier, type DeliveryFailure, type Notifier } from '../../src/notify/deliver.js';
import type { OutgoingNotice } from '../../src/notify/notice.js';
import { postNotice } from '../../src/notify/post-notice.js';
import { type Receiver, receiver, silent } from './receiver.js';
import { RingingClock } from './ringing-clock.js';
import { parked } from './samples.js';

const about = (id: string): OutgoingNotice => ({ notice: parked(id), repeated: 0 });

interface Bench {
  readonly clock: RingingClock;
  readonly notifier: Notifier;
  readonly failures: DeliveryFailure[];
  readonly recovered: number[];
  /** In force; a test may change it. */
  targets: readonly Target[];
}

function urlTarget({ url }: Pick<Receiver, 'url'>, clock: RingingClock, name: Target['name'] = 'url'): Target {
  return { name, send: (body, signal) => postNotice({ url, body, userAgent: 'x', clock, signal }) };
}

function bench(...receivers: Receiver[]): Bench {
  const clock = new RingingClock();
  const failures: DeliveryFailure[] = [];
  const recovered: number[] = [];
  const names = ['url', 'command'] as const;
  const made: Bench = {
    clock,
    failures,
    recovered,
    targets: receivers.map((one, index) => urlTarget(one, clock, names[index])),
    notifier: createNotifier({
      clock,
      targets: () => made.targets,
      encode: ({ notice }, missed) => JSON.stringify({ id: 'issue' in notice ? notice.issue.id : '', missed }),
      onFailure: (failure) => failures.push(failure),
      onRecovered: (_, missed) => recovered.push(missed),
    }),
  };
  return made;
}

const ids = ({ received }: Receiver) => received.map(({ json }) => json.id);

describe('a delivery', () => {
  test('is tried three times, after 1 s and 5 s, until it succeeds', async () => {
    const hook = await receiver(500, 500, 200);
    const { clock, notifier, failures } = bench(hook);

    notifier.send(about('A'));
    await clock.ring(1_000);
    await hook.until(2);
    await clock.ring(5_000);
    await hook.until(3);
    await notifier.close();

    expect(ids(hook)).toEqual(['A', 'A', 'A']);
    expect(failures).toEqual([]);
  });

  test('fails after the third try; the reason is reported once, and the number of lost notices with the next one', async () => {
    const hook = await receiver(500, 500, 500, 500, 500, 500, 200);
    const { clock, notifier, failures, recovered } = bench(hook);

    for (const id of ['A', 'B', 'C']) notifier.send(about(id));
    for (const _ of ['A', 'B']) {
      await clock.ring(1_000);
      await clock.ring(5_000);
    }
    await hook.until(7);
    await notifier.close();

    expect(failures).toEqual([{ target: 'url', code: 'http_500', detail: 'HTTP 500', tries: 3, missed: 1 }]);
    expect(hook.received.at(-1)?.json).toEqual({ id: 'C', missed: 2 });
    expect(recovered).toEqual([2]);
  });

  test('is not retried after a final failure', async () => {
    const hook = await receiver(404, 200);
    const { notifier, failures } = bench(hook);

    notifier.send(about('A'));
    notifier.send(about('B'));
    await hook.until(2);
    await notifier.close();

    expect(ids(hook)).toEqual(['A', 'B']);
    expect(failures).toMatchObject([{ code: 'http_404', tries: 1 }]);
  });

  test.each([
    ['30', 30_000],
    ['86400', 60_000],
    ['0', 1_000],
  ])('waits as long as Retry-After %s asks for, within reason', async (header, waitMs) => {
    const hook = await receiver((response) => response.writeHead(429, { 'Retry-After': header }).end(), 200);
    const { clock, notifier, failures } = bench(hook);

    notifier.send(about('A'));
    await clock.ring(waitMs);
    await hook.until(2);
    await notifier.close();

    expect(failures).toEqual([]);
  });

  test('has ten seconds for each try', async () => {
    const hook = await receiver(silent, 200);
    const { clock, notifier } = bench(hook);

    notifier.send(about('A'));
    await hook.until(1);
    await clock.ring(10_000);
    await clock.ring(1_000);
    await hook.until(2);
    await notifier.close();

    expect(ids(hook)).toEqual(['A', 'A']);
  });

  test('that hangs three times fails with timeout, reported once', async () => {
    const hook = await receiver(silent);
    const { clock, notifier, failures } = bench(hook);

    notifier.send(about('A'));
    for (const waitMs of [10_000, 1_000, 10_000, 5_000, 10_000]) await clock.ring(waitMs);
    await notifier.close();

    expect(failures).toMatchObject([{ code: 'timeout', tries: 3 }]);
  });
});

describe('a queue', () => {
  test('keeps the order, one at a time, and a slow target does not delay another', async () => {
    const slow = await receiver(silent);
    const quick = await receiver(200);
    const { clock, notifier } = bench(slow, quick);

    for (const id of ['A', 'B', 'C']) notifier.send(about(id));
    await quick.until(3);
    await slow.until(1);

    expect(ids(quick)).toEqual(['A', 'B', 'C']);
    expect(ids(slow)).toEqual(['A']);
    const closed = notifier.close();
    await clock.ring(2_500);
    await closed;
  });

  test('that is full drops its oldest, reports that once, and counts them', async () => {
    const gate: { open(): void }[] = [];
    const hook = await receiver((response) => void gate.push({ open: () => response.end() }), 200);
    const { notifier, failures } = bench(hook);

    notifier.send(about('first'));
    await hook.until(1);
    for (let index = 0; index < 150; index++) notifier.send(about(`I${index}`));
    gate[0]?.open();
    await hook.until(101);
    await notifier.close();

    expect(failures).toMatchObject([{ code: 'queue_full', missed: 1 }]);
    expect(hook.received[1]?.json).toEqual({ id: 'I50', missed: 50 });
    expect(hook.received.at(-1)?.json).toEqual({ id: 'I149', missed: 0 });
  });

  test('uses the current settings, and sends nothing without a target', async () => {
    const gate: { open(): void }[] = [];
    const old = await receiver((response) => void gate.push({ open: () => response.end() }));
    const next = await receiver(200);
    const made = bench(old);

    for (const id of ['A', 'B']) made.notifier.send(about(id));
    await old.until(1);
    made.targets = [urlTarget(next, made.clock)];
    gate[0]?.open();
    await next.until(1);
    made.targets = [];
    made.notifier.send(about('C'));
    await made.notifier.close();

    expect([ids(old), ids(next)]).toEqual([['A'], ['B']]);
  });
});

describe('the end', () => {
  test('waits a little for open deliveries, then aborts them and drops the rest', async () => {
    const hook = await receiver(silent);
    const { clock, notifier } = bench(hook);
    notifier.send(about('A'));
    notifier.send(about('B'));
    await hook.until(1);

    const closed = notifier.close();
    await clock.ring(2_500);
    await closed;

    expect(ids(hook)).toEqual(['A']);
    expect(clock.delays).toEqual([]);
    notifier.send(about('C'));
    expect(clock.delays).toEqual([]);
  });

  test('does not wait for a backoff either', async () => {
    const hook = await receiver(500);
    const { clock, notifier } = bench(hook);
    notifier.send(about('A'));
    await hook.until(1);

    const closed = notifier.close();
    await clock.ring(2_500);
    await closed;

    expect(ids(hook)).toEqual(['A']);
  });
});

test('a target that throws is a failed delivery', async () => {
  const made = bench();
  made.targets = [{ name: 'url', send: () => Promise.reject(new Error('broken')) }];

  made.notifier.send(about('A'));
  await made.clock.ring(1_000);
  await made.clock.ring(5_000);
  await made.notifier.close();

  expect(made.failures).toMatchObject([{ code: 'internal_error', detail: 'broken', tries: 3 }]);
});

test('a notice that cannot be encoded is lost, and the next one is sent', async () => {
  const hook = await receiver(200);
  const clock = new RingingClock();
  const failures: DeliveryFailure[] = [];
  const encode = ({ notice }: OutgoingNotice, missed: number) => {
    if ('issue' in notice && notice.issue.id === 'A') throw new Error('no words');
    return JSON.stringify({ missed });
  };
  const more = { encode, onFailure: (one: DeliveryFailure) => failures.push(one), onRecovered: () => {} };
  const notifier = createNotifier({ clock, targets: () => [urlTarget(hook, clock)], ...more });

  notifier.send(about('A'));
  notifier.send(about('B'));
  await hook.until(1);
  await notifier.close();

  expect(failures).toMatchObject([{ code: 'internal_error', missed: 1 }]);
  expect(hook.received[0]?.json).toEqual({ missed: 1 });
});
