import { join } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import { expect, onTestFinished, test, vi } from 'vitest';
import type { RunRecord } from '../../src/domain/durable.js';
import type { HistoryEvent } from '../../src/domain/note.js';
import { createRedactor } from '../../src/logging/redact.js';
import { openSqliteStore } from '../../src/store/sqlite-store.js';
import { tempFolder } from '../runner/workspace/temp-folder.js';
import { openStore } from './open-store.js';
import { change, parked, record } from './stored-samples.js';

const DAY_MS = 86_400_000;
const event = (message: string, fields: HistoryEvent['fields'] = {}): HistoryEvent => ({
  atMs: 1,
  level: 'info',
  message,
  issueId: 'A',
  identifier: 'A',
  runId: null,
  fields,
});
const runAt = (runId: string, startedAtMs: number): RunRecord => ({
  runId,
  issueId: 'A',
  identifier: 'A',
  title: 'T',
  author: null,
  labels: [],
  number: 1,
  reason: 'first',
  cause: 'poll',
  attempt: null,
  threadId: null,
  turns: 0,
  daemonVersion: '1',
  workflowHash: 'w',
  issueHash: null,
  promptHash: null,
  agentVersion: null,
  model: null,
  tokens: { input: 0, cached: 0, output: 0 },
  startedAtMs,
  end: null,
});

function looker(dir: string) {
  const db = new DatabaseSync(join(dir, 'baton.db'), { readOnly: true });
  onTestFinished(() => db.close());
  return (sql: string) => db.prepare(sql).all() as { [column: string]: unknown }[];
}

test('an event is stored with the next write', async () => {
  const { dir, store } = await openStore();
  const look = looker(dir);

  store.addEvent(event('one', { code: 5 }));
  await store.write(change({ records: { A: record(1) } }));

  expect(look('SELECT id, message, issue_id, fields FROM events').map((row) => ({ ...row }))).toEqual([
    { id: 1, message: 'one', issue_id: 'A', fields: '{"code":5}' },
  ]);
});

test('an event without a write is stored a moment later, and closing stores all', async () => {
  const { dir, store } = await openStore();
  const look = looker(dir);

  store.addEvent(event('alone'));
  await vi.waitFor(() => expect(look('SELECT message FROM events')).toHaveLength(1), 5_000);
  store.addEvent(event('last'));
  await store.close();

  expect((await openStore(dir)).warnings).toEqual([]);
  expect(looker(dir)('SELECT message FROM events')).toHaveLength(2);
});

test('only the last ten thousand events are kept, and their numbers continue', async () => {
  const { dir, store } = await openStore();
  for (let round = 0; round < 21; round++) {
    for (let number = 0; number < 500; number++) store.addEvent(event(`e${round}`));
    await store.write(change({}));
  }

  const [row] = looker(dir)('SELECT count(*) AS count, min(id) AS first, max(id) AS last FROM events');
  expect({ ...row }).toEqual({ count: 10_000, first: 501, last: 10_500 });
});

test('runs and spending are deleted when they are older than the limit, and the last fifty runs stay', async () => {
  const { dir, store } = await openStore();
  const now = Date.UTC(2026, 5, 1);
  const spent = { tokens: 1, issues: { A: { input: 1, cached: 0, output: 0, tokens: 1 } } };
  const recent = Array.from({ length: 50 }, (_, number) => runAt(`new${number}`, now));
  const runs = [runAt('old', now - 401 * DAY_MS), runAt('kept', now - 399 * DAY_MS), ...recent];
  await store.write(change({ runs, ledger: { '2025-01-01': spent, '2026-06-01': spent } }));

  await store.prune({ days: 400, nowMs: now });

  const look = looker(dir);
  expect(look("SELECT run_id FROM runs WHERE run_id NOT LIKE 'new%'").map((row) => row.run_id)).toEqual(['kept']);
  expect(look('SELECT day FROM spending').map((row) => row.day)).toEqual(['2026-06-01']);
});

test('the spending of a day never decreases', async () => {
  const { store } = await openStore();
  const day = (tokens: number) => ({
    '2026-01-01': { tokens, issues: { A: { input: tokens, cached: 0, output: 0, tokens } } },
  });

  await store.write(change({ ledger: day(90) }));
  await store.write(change({ ledger: day(5) }));

  expect((await store.load()).ledger['2026-01-01']?.tokens).toBe(90);
});

test('a clock that is years ahead does not empty the store, even if a run was started meanwhile', async () => {
  const { dir, store } = await openStore();
  const now = Date.UTC(2026, 5, 1);
  const later = now + 3_650 * DAY_MS;
  const runs = Array.from({ length: 60 }, (_, number) => runAt(`r${number}`, now - number * DAY_MS));
  await store.write(change({ runs: [...runs, runAt('later', later)] }));

  await store.prune({ days: 400, nowMs: later });

  expect(looker(dir)('SELECT run_id FROM runs')).toHaveLength(61);
});

test('SEC-20 a secret in an error of the tracker, a hold, an outcome or an event is not in the file', async () => {
  const dir = await tempFolder();
  const secret = 'canary-7f3a9c-secret';
  const redactor = createRedactor([secret]);
  const store = openSqliteStore({ dir, onWarning: () => {}, clean: (json) => redactor.maskJson(json) });
  const said = `GET https://x/?token=${secret} failed`;
  const hold = { code: 'tracker_auth', message: said, sinceMs: 1, tries: 0, untilMs: null, probed: [] } as const;
  const claim = parked('A');
  const end = { atMs: 1, outcome: 'failed', code: 'tracker_status', message: said } as const;
  const status = { ...claim.status, message: said } as typeof claim.status;

  store.addEvent(event('tracker cannot be read', { detail: said }));
  await store.write(
    change({ holds: { tracker: hold }, claims: { A: { ...claim, status } }, runs: [{ ...runAt('r', 1), end }] }),
  );

  const dump = JSON.stringify(
    ['claims', 'holds', 'runs', 'events'].map((table) => looker(dir)(`SELECT * FROM ${table}`)),
  );
  expect(dump).toContain('***');
  expect(dump).not.toContain(secret);
  expect((await store.load()).claims.A).toBeDefined();
  await store.close();
});
