import { describe, expect, test } from 'vitest';
import type { Store } from '../../src/domain/ports.js';
import { CLAIMS, change, finished, parked, record, runRecord } from './stored-samples.js';

/** The laws of every `Store`. */
export function describeStore(name: string, open: () => Promise<Store>): void {
  describe(name, () => {
    test('is empty at first', async () => {
      const store = await open();

      expect(await store.load()).toEqual({
        claims: {},
        records: {},
        holds: {},
        pausedSinceMs: null,
        ledger: {},
        finished: [],
      });
      expect(await store.formerOwners.all()).toEqual([]);
    });

    test('returns every field that was written', async () => {
      const store = await open();
      const records = {
        A: { runs: 1, tokens: 2, budgetFrom: 1, threads: [{ id: 't', totals: { input: 3, cached: 2, output: 1 } }] },
      };
      const spent = { input: 9, cached: 2, output: 2, tokens: 9 };
      const ledger = { '2026-01-01': { tokens: 9, issues: { A: spent } } };
      const given = change({ claims: CLAIMS, records, pausedSinceMs: 7, ledger });

      await store.write(given);

      const { full: _, runs: __, ...durable } = given;
      expect(await store.load()).toEqual(durable);
    });

    test('keeps open runs until they are removed', async () => {
      const store = await open();
      const run = { marker: 'r1', issueId: 'A', owesAfterRunIn: null, processes: [] };
      const process = { pid: 7, startTime: '12', bootId: 'b' };

      await store.openRuns.put(run);
      await store.openRuns.put({ ...run, marker: 'r2' });
      await store.openRuns.put({ ...run, owesAfterRunIn: 'key', processes: [process] });
      await store.openRuns.remove('r2');
      await store.openRuns.remove('r2');

      expect(await store.openRuns.all()).toEqual([{ ...run, owesAfterRunIn: 'key', processes: [process] }]);
    });

    test('adds to the stored state, and null deletes', async () => {
      const store = await open();

      await store.write(change({ claims: { A: parked('A'), B: parked('B') }, records: { A: record(1) } }));
      await store.write(change({ claims: { A: null }, records: { B: record(2) }, pausedSinceMs: 5 }));

      expect(await store.load()).toMatchObject({
        claims: { B: parked('B') },
        records: { A: record(1), B: record(2) },
        pausedSinceMs: 5,
      });
      expect(Object.keys((await store.load()).claims)).toEqual(['B']);
    });

    test('stores several changes as if they were written in turn', async () => {
      const store = await open();

      await store.write(
        change({ claims: { A: parked('A') }, records: { A: record(1) } }),
        change({ full: true, claims: { B: parked('B') }, records: { A: record(2) }, runs: [runRecord('r1', 'A', 10)] }),
        change({ claims: { C: parked('C') }, records: { B: record(3) }, pausedSinceMs: 5 }),
      );

      const { claims, records, pausedSinceMs } = await store.load();
      expect(claims).toEqual({ B: parked('B'), C: parked('C') });
      expect([records, pausedSinceMs]).toEqual([{ A: record(2), B: record(3) }, 5]);
      expect(await store.past.runs({ limit: 9 })).toHaveLength(1);
    });

    test('a full change replaces everything', async () => {
      const store = await open();
      await store.write(change({ claims: { A: parked('A') }, records: { A: record(1) } }));

      await store.write(change({ full: true, claims: { B: parked('B'), C: null }, records: { B: record(1) } }));

      const { claims, records } = await store.load();
      expect([Object.keys(claims), Object.keys(records)]).toEqual([['B'], ['B']]);
    });

    test('replaces all holds', async () => {
      const store = await open();
      const hold = { code: 'low_disk', message: 'full', sinceMs: 1, tries: 0, untilMs: null, probed: ['A'] } as const;

      await store.write(change({ holds: { disk: hold } }));
      expect((await store.load()).holds).toEqual({ disk: hold });
      await store.write(change({}));

      expect((await store.load()).holds).toEqual({});
    });

    test('sums spending by day and issue, and returns the last seven days', async () => {
      const store = await open();
      const spent = (tokens: number) => ({ input: tokens, cached: 0, output: 0, tokens });
      const day = (number: number) => `2026-01-${String(number).padStart(2, '0')}`;
      for (let number = 1; number <= 9; number++) {
        const issues = { A: spent(number), ['__proto__']: spent(1) };
        await store.write(change({ ledger: { [day(number)]: { tokens: number + 1, issues } } }));
      }

      await store.write(change({ ledger: { [day(9)]: { tokens: 12, issues: { A: spent(11) } } } }));
      await store.write(change({ full: true }));

      const { ledger } = await store.load();
      expect(Object.keys(ledger)).toEqual([3, 4, 5, 6, 7, 8, 9].map(day));
      expect(ledger[day(9)]).toEqual({ tokens: 12, issues: { A: spent(11), ['__proto__']: spent(1) } });
    });

    test('returns past runs, finished issues and events, the newest first and up to the limit', async () => {
      const store = await open();
      const runs = [runRecord('r1', 'A', 10), runRecord('r2', 'B', 20), runRecord('r3', 'A', 30)];
      await store.write(change({ runs, finished: [finished('A', 1, 40), finished('B', 1, 50)] }));
      await store.write(change({ finished: [{ ...finished('A', 1, 60), state: 'Closed' }] }));
      const event = { atMs: 5, level: 'info', message: 'm', runId: null, fields: { a: 1 } } as const;
      store.addEvent({ ...event, issueId: 'A', identifier: 'id-A' });
      store.addEvent({ ...event, issueId: 'B', identifier: 'id-B' });
      await store.write(change({}));

      const { past } = store;
      const ids = (found: readonly { runId: string }[]) => found.map(({ runId }) => runId);
      expect(ids(await past.runs({ limit: 9 }))).toEqual(['r3', 'r2', 'r1']);
      expect(ids(await past.runs({ sinceMs: 20, limit: 1 }))).toEqual(['r3']);
      expect(ids(await past.runs({ issue: 'A', limit: 9 }))).toEqual(['r3', 'r1']);
      expect(ids(await past.runs({ issue: 'id-B', limit: 9 }))).toEqual(['r2']);
      expect(await past.runs({ issue: 'id-B\0x', limit: 9 })).toEqual([]);
      expect(await past.runs({ issue: 'A', sinceMs: 30, limit: 9 })).toEqual([runs[2]]);
      const left = (await past.finished({ sinceMs: 50, limit: 9 })).map(({ issueId, state }) => [issueId, state]);
      expect(left).toEqual([
        ['A', 'Closed'],
        ['B', 'Done'],
      ]);
      expect((await store.load()).finished.map(({ issueId }) => issueId)).toEqual(['B', 'A']);
      expect(await past.events({ issue: 'id-B', limit: 9 })).toEqual([{ ...event, issueId: 'B', identifier: 'id-B' }]);
      expect((await past.events({ limit: 9 })).map(({ issueId }) => issueId)).toEqual(['B', 'A']);
    });

    test('counts spending, ended runs and done issues by local day', async () => {
      const store = await open();
      const noon = new Date(2026, 0, 5, 12).getTime();
      const spent = { input: 9, cached: 2, output: 2, tokens: 9 };
      const failed = { atMs: noon, outcome: 'timeout', code: 'turn_timeout', message: 'm' } as const;
      const runs = [
        { ...runRecord('r1', 'A', noon - 1), end: failed },
        runRecord('r2', 'A', noon),
        { ...runRecord('r3', 'A', noon), end: null },
        runRecord('r4', 'A', noon - 86_400_000 * 3),
      ];
      const ledger = {
        '2026-01-05': { tokens: 18, issues: { A: spent, B: spent } },
        '2026-01-06': { tokens: 9, issues: { A: spent } },
      };
      const handedOver = { ...finished('C', 1, noon), isTerminal: false };
      await store.write(
        change({ runs, ledger, finished: [finished('A', 1, noon), finished('B', 1, noon), handedOver] }),
      );

      expect(await store.past.days('2026-01-04')).toEqual([
        { day: '2026-01-06', ...spent, runs: 0, failed: 0, done: 0 },
        { day: '2026-01-05', input: 18, cached: 4, output: 4, tokens: 18, runs: 2, failed: 1, done: 2 },
      ]);
    });

    test('applies writes in the order of their calls, also without awaiting', async () => {
      const store = await open();

      const writes = [1, 2, 3].map((runs) => store.write(change({ records: { A: record(runs) } })));
      await Promise.all(writes);

      expect((await store.load()).records.A).toEqual(record(3));
    });

    test('shares no objects with its callers', async () => {
      const given = { A: { runs: 1, tokens: 0, budgetFrom: 0, threads: [] } };
      const store = await open();
      await store.write(change({ records: given }));

      given.A.runs = 99;
      const first = await store.load();
      Object.assign(first.records, { B: record(5) });

      expect((await store.load()).records).toEqual({ A: record(1) });
    });

    test('SEC-14 keeps issues apart whatever their ids are', async () => {
      const store = await open();
      const ids = [
        '__proto__',
        'constructor',
        'a',
        'a\0b',
        'a\0c',
        '\ud800',
        '\udfff',
        '"a"',
        '"',
        "'; DROP TABLE x",
        'é',
      ];
      const records = Object.fromEntries(ids.map((id, index) => [id, record(index)]));
      const claims = Object.fromEntries(ids.map((id) => [id, parked(id)]));

      await store.write(change({ records, claims }));
      await store.write(change({ claims: { a: null } }));

      const loaded = await store.load();
      expect(new Map(Object.entries(loaded.records))).toEqual(new Map(ids.map((id, index) => [id, record(index)])));
      expect(Object.keys(loaded.claims).sort()).toEqual(ids.filter((id) => id !== 'a').sort());
      expect(({} as { runs?: number }).runs).toBeUndefined();
    });

    test('refuses every call after closing, except closing again', async () => {
      const store = await open();
      await store.close();

      await expect(store.write(change({}))).rejects.toMatchObject({ code: 'store_failed' });
      await expect(store.load()).rejects.toMatchObject({ code: 'store_failed' });
      await expect(store.openRuns.all()).rejects.toMatchObject({ code: 'store_failed' });
      await expect(store.openRuns.remove('r1')).rejects.toMatchObject({ code: 'store_failed' });
      await store.close();
    });
  });
}
