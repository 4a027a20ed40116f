import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { DatabaseSync } from '@photostructure/sqlite';
import { describe, expect, test } from 'vitest';
import { stateExport } from '../../src/cli/state-export.js';
import { openSqliteStore } from '../../src/store/sqlite-store.js';
import { storedClaim } from '../../src/store/stored-shapes.js';
import { CLAIMS, change, parked, record } from '../store/stored-samples.js';
import { issue } from '../support/builders.js';
import { world } from './cli-fixture.js';

describe('baton state export', () => {
  test('prints everything that is stored as JSON, while the store is in use', async () => {
    const io = world();
    const dir = join(io.dir, 'state');
    mkdirSync(dir);
    const store = openSqliteStore({ dir, onWarning: () => {} });
    await store.write(change({ claims: CLAIMS, records: { A: record(4) }, pausedSinceMs: 5 }));
    const title = 'red \u001b[31m text';
    store.addEvent({
      atMs: 1,
      level: 'info',
      message: 'm',
      issueId: 'A',
      identifier: 'A',
      runId: null,
      fields: { title },
    });
    await store.write(change({ pausedSinceMs: 5 }));
    const before = readdirSync(dir).sort();

    const code = await stateExport({ workflowPath: 'WORKFLOW.md', stateDir: 'state' }, io);

    const state = JSON.parse(io.out());
    expect({ code, err: io.err() }).toEqual({ code: 0, err: '' });
    expect(state).toMatchObject({
      state_dir: dir,
      schema_version: 4,
      claims: JSON.parse(
        JSON.stringify(Object.fromEntries(Object.entries(CLAIMS).map(([id, claim]) => [id, storedClaim(claim)]))),
      ),
      records: { A: { runs: 4 } },
      meta: { daemon: { pausedSinceMs: 5 } },
      open_runs: {},
      spending: [],
      runs: [],
      events: [{ id: 1, message: 'm', fields: { title } }],
      unreadable: [],
    });
    expect(io.out()).not.toContain('\u001b');
    expect(readdirSync(dir).sort()).toEqual(before);
    await store.close();
  });

  test('is whole at the other end of a pipe, however long it is', async () => {
    const io = world();
    const dir = join(io.dir, 'state');
    mkdirSync(dir);
    const store = openSqliteStore({ dir, onWarning: () => {} });
    const long = { ...parked('A'), issue: issue({ id: 'A', description: 'x'.repeat(3_000_000) }) };
    await store.write(change({ claims: { A: long } }));
    await store.close();
    const main = fileURLToPath(new URL('../../dist/src/main.js', import.meta.url));

    const child = spawn(process.execPath, [main, 'state', 'export', '--state-dir', dir]);
    // The test reads only after the pipe is full.
    await once(child.stdout, 'readable');
    const state = JSON.parse(await text(child.stdout));

    expect(state.claims.A.issue.description).toHaveLength(3_000_000);
  });

  test('names the file itself when it is of a newer Baton, not a copy that is gone', async () => {
    const io = world();
    const dir = join(io.dir, 'state');
    mkdirSync(dir);
    await openSqliteStore({ dir, onWarning: () => {} }).close();
    const db = new DatabaseSync(join(dir, 'baton.db'));
    db.exec('PRAGMA user_version = 99');
    db.close();

    const code = await stateExport({ workflowPath: 'WORKFLOW.md', stateDir: 'state' }, io);

    expect(code).toBe(1);
    expect(io.err()).toContain(`${join(dir, 'baton.db')} was written by a newer Baton`);
  });

  test('without stored state it fails and creates nothing', async () => {
    const io = world();

    const code = await stateExport({ workflowPath: 'WORKFLOW.md', stateDir: 'state' }, io);

    expect({ code, out: io.out() }).toEqual({ code: 1, out: '' });
    expect(io.err()).toContain('no daemon has worked there yet');
    expect(readdirSync(io.dir)).toEqual([]);
  });

  test('finds the state of a workflow without a flag', async () => {
    const io = world();
    io.write('WORKFLOW.md', '---\ntracker: { kind: local }\n---\nGo\n');

    await stateExport({ workflowPath: 'WORKFLOW.md', stateDir: undefined }, io);

    expect(io.err()).toContain(join(io.homeDir, '.local/state/baton'));
  });
});
