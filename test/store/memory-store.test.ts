import { describe, expect, test } from 'vitest';
import type { DurableChange, DurableClaim } from '../../src/domain/durable.js';
import { createMemoryStore } from '../../src/store/memory-store.js';
import { issue } from '../support/builders.js';

const claim = (id: string): DurableClaim => ({
  issue: issue(id),
  failures: 0,
  idleRuns: 0,
  suspect: false,
  status: {
    kind: 'parked',
    reason: 'budget',
    sinceMs: 1,
    message: 'spent',
    hash: 'h',
    question: null,
    threadId: null,
    run: null,
  },
});
const record = (runs: number) => ({ runs, tokens: 0, budgetFrom: 0, threads: [] });
const change = (part: Partial<DurableChange>): DurableChange => ({
  full: false,
  claims: {},
  records: {},
  holds: {},
  pausedSinceMs: null,
  ledger: { day: '2026-01-01', tokens: 0 },
  ...part,
});

describe('the store in memory', () => {
  test('is empty at first', async () => {
    expect(await createMemoryStore().load()).toEqual({
      claims: {},
      records: {},
      holds: {},
      pausedSinceMs: null,
      ledger: { day: '', tokens: 0 },
    });
  });

  test('adds to what it has, and null deletes', async () => {
    const store = createMemoryStore();

    await store.write(change({ claims: { A: claim('A'), B: claim('B') }, records: { A: record(1) } }));
    await store.write(change({ claims: { A: null }, records: { B: record(2) }, pausedSinceMs: 5 }));

    expect(await store.load()).toMatchObject({
      claims: { B: claim('B') },
      records: { A: record(1), B: record(2) },
      pausedSinceMs: 5,
    });
    expect(Object.keys((await store.load()).claims)).toEqual(['B']);
  });

  test('forgets everything else on a full change', async () => {
    const store = createMemoryStore();
    await store.write(change({ claims: { A: claim('A') }, records: { A: record(1) } }));

    await store.write(change({ full: true, claims: { B: claim('B'), C: null }, records: { B: record(1) } }));

    const { claims, records } = await store.load();
    expect([Object.keys(claims), Object.keys(records)]).toEqual([['B'], ['B']]);
  });

  test('replaces holds and ledger as a whole', async () => {
    const store = createMemoryStore();
    const hold = { code: 'low_disk', message: 'full', sinceMs: 1, tries: 0, untilMs: null, probed: [] } as const;

    await store.write(change({ holds: { disk: hold }, ledger: { day: 'd', tokens: 7 } }));
    expect(await store.load()).toMatchObject({ holds: { disk: hold }, ledger: { day: 'd', tokens: 7 } });
    await store.write(change({}));

    expect((await store.load()).holds).toEqual({});
  });

  test('applies writes in the order of their calls, none awaited', async () => {
    const store = createMemoryStore();

    const writes = [1, 2, 3].map((runs) => store.write(change({ records: { A: record(runs) } })));
    await Promise.all(writes);

    expect((await store.load()).records.A).toEqual(record(3));
  });

  test('shares nothing with those who read and write it', async () => {
    const given = { A: { runs: 1, tokens: 0, budgetFrom: 0, threads: [] } };
    const store = createMemoryStore();
    await store.write(change({ records: given }));

    given.A.runs = 99;
    const first = await store.load();
    Object.assign(first.records, { B: record(5) });

    expect((await store.load()).records).toEqual({ A: record(1) });
  });

  test('starts from what it is given', async () => {
    const first = createMemoryStore();
    await first.write(change({ claims: { A: claim('A') } }));

    expect(await createMemoryStore(await first.load()).load()).toEqual(await first.load());
  });

  test('SEC-14 bears an issue called __proto__', async () => {
    const store = createMemoryStore();

    await store.write(change({ records: JSON.parse('{"__proto__":{"runs":1}}') }));

    expect(Object.keys((await store.load()).records)).toEqual(['__proto__']);
    expect(({} as { runs?: number }).runs).toBeUndefined();
  });

  test('remembers whose a workspace is', async () => {
    const { owners } = createMemoryStore();
    const owner = { key: 'AB-1', scope: 's', issueId: 'i', identifier: 'AB-1' };

    await owners.put(owner);
    await owners.put({ ...owner, issueId: 'j' });
    await owners.put({ ...owner, key: 'AB-2' });
    await owners.remove('AB-2');
    await owners.remove('unheard of');

    expect(await owners.all()).toEqual([{ ...owner, issueId: 'j' }]);
  });

  test('refuses everything once it is closed', async () => {
    const store = createMemoryStore();
    await store.close();

    await expect(store.write(change({}))).rejects.toMatchObject({ code: 'store_failed' });
    await expect(store.load()).rejects.toMatchObject({ code: 'store_failed' });
    await expect(store.owners.all()).rejects.toMatchObject({ code: 'store_failed' });
  });
});
