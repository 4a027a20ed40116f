import { mkdir, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { newAccount } from '../../orchestrator/run-record.js';
import { initialState } from '../../orchestrator/state.js';
import { distinctName } from '../../runner/workspace/workspace-path.js';
import { createWorkspaces } from '../../runner/workspace/workspaces.js';
import { config, issue } from '../support/builders.js';
import { createMemoryStore } from '../support/memory-store.js';
import { MemoryTracker } from '../support/memory-tracker.js';
import { agentCommand, testDaemon } from '../support/test-daemon.js';

/** The store of a daemon that was killed during a turn of AB-1. */
async function left() {
  const tracker = new MemoryTracker();
  const one = tracker.put('AB-1');
  const store = createMemoryStore({
    claims: {
      'AB-1': {
        issue: issue('AB-1'),
        failures: 1,
        idleRuns: 0,
        failedAsProbe: false,
        daemonDeaths: 0,
        status: {
          kind: 'running',
          run: {
            runId: 'before-7',
            number: 4,
            reason: 'retry',
            attempt: 1,
            startedAtMs: 5,
            hash: 'h',
            threadId: 'thread-1',
            resume: null,
            probe: false,
            questions: [],
            answered: null,
            requestedAfterExit: null,
            account: newAccount('retry', initialState(config(), 'h', 'before', 0)),
          },
        },
      },
    },
    records: { 'AB-1': { runs: 4, tokens: 0, budgetFrom: 0, threads: [] } },
    holds: {},
    pausedSinceMs: null,
    ledger: {},
    finished: [],
  });
  await store.openRuns.put({ marker: 'before-7', issueId: one.id, owesAfterRunIn: 'AB-1', processes: [] });
  return { tracker, store };
}

test('an interrupted run gets its after_run before its issue runs again, and both are logged', async () => {
  const { tracker, store } = await left();
  const daemon = await testDaemon({
    tracker,
    store,
    settings: `
hooks:
  before_run: echo "before_run $BATON_RUN_ID" >> ../calls
  after_run: echo "after_run $BATON_RUN_ID $BATON_RUN_OUTCOME" >> ../calls
codex: { command: "${agentCommand('obedient')}" }
agent: { max_turns: 1 }`,
    before: async (dir) => {
      await mkdir(join(dir, 'workspaces'));
      const workspaces = createWorkspaces({ root: join(dir, 'workspaces'), scope: tracker.scope });
      await workspaces.confirmCreated(await workspaces.prepare({ id: 'AB-1', identifier: 'AB-1' }));
    },
  });

  await daemon.until('the next run is over', (_, event) => event?.type === 'run_exited' && event.runId !== 'before-7');

  const started = daemon.logLines.filter(({ msg }) => msg === 'run started');
  const [first] = started;
  expect((await readFile(join(daemon.workspaces, 'calls'), 'utf8')).split('\n').slice(0, 3)).toEqual([
    'after_run before-7 interrupted',
    `before_run ${first?.run_id}`,
    `after_run ${first?.run_id} success`,
  ]);
  expect(first).toMatchObject({ run_number: 5, reason: 'resumed', attempt: 1 });
  expect(daemon.logLines).toContainEqual(
    expect.objectContaining({ msg: 'run closed', run_id: 'before-7', issue_identifier: 'AB-1' }),
  );
  await daemon.stop();
  const transcript = await readFile(join(daemon.stateDir, 'transcripts/before-7.jsonl'), 'utf8');
  const kinds = transcript
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line).kind);
  expect(kinds).toEqual(['closing_began', 'hook', 'run_ended']);
});

test('S2-08 the folder that an earlier version recorded in its store belongs to its issue, also when it has a hash', async () => {
  const tracker = new MemoryTracker();
  tracker.put({ id: '1', identifier: 'A/B', state: 'Done' });
  const key = distinctName('A/B');
  const former = [{ key, scope: tracker.scope, issueId: '1', identifier: 'A/B' }];
  const formerOwners = { all: async () => [...former], clear: async () => void former.pop() };
  const daemon = await testDaemon({
    tracker,
    store: { ...createMemoryStore(), formerOwners },
    before: async (dir) => void (await mkdir(join(dir, 'workspaces', key), { recursive: true, mode: 0o700 })),
  });

  await daemon.until('the folder is removed', (_, event) => event?.type === 'workspace_removed');

  expect(await readdir(daemon.workspaces)).toEqual(['.baton']);
  expect(former).toEqual([]);
});
