import { mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { stateExport } from '../../src/cli/state-export.js';
import { openSqliteStore } from '../../src/store/sqlite-store.js';
import { CLAIMS, change, record } from '../store/stored-samples.js';
import { world } from './cli-fixture.js';

describe('baton state export', () => {
  test('prints everything that is stored as JSON, while the store is in use', async () => {
    const io = world();
    const dir = join(io.dir, 'state');
    mkdirSync(dir);
    const store = openSqliteStore({ dir, onWarning: () => {} });
    await store.write(change({ claims: CLAIMS, records: { A: record(4) }, pausedSinceMs: 5 }));
    await store.owners.put({ key: 'K', scope: 's', issueId: 'A', identifier: 'A' });
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
      schema_version: 2,
      claims: CLAIMS,
      records: { A: { runs: 4 } },
      meta: { daemon: { pausedSinceMs: 5 } },
      owners: { K: { issueId: 'A' } },
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

  test('says so where nothing was stored, and makes nothing', async () => {
    const io = world();

    const code = await stateExport({ workflowPath: 'WORKFLOW.md', stateDir: 'state' }, io);

    expect({ code, out: io.out() }).toEqual({ code: 1, out: '' });
    expect(io.err()).toContain('no daemon has worked there yet');
    expect(readdirSync(io.dir)).toEqual([]);
  });

  test('finds the state of a workflow by itself', async () => {
    const io = world();
    io.write('WORKFLOW.md', '---\ntracker: { kind: local }\n---\nGo\n');

    await stateExport({ workflowPath: 'WORKFLOW.md', stateDir: undefined }, io);

    expect(io.err()).toContain(join(io.homeDir, '.local/state/baton'));
  });
});
