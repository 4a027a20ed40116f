import { mkdtemp, readdir, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { OpenRuns } from '../../runner/open-runs.js';
import type { RunServices } from '../../runner/run-context.js';
import { makeDaemonFolder } from '../../runner/run-folder.js';
import { combineObservers } from '../../runner/run-observer.js';
import { RunPool } from '../../runner/run-pool.js';
import { createWorkspaces } from '../../runner/workspace/workspaces.js';
import type { StartOrder } from '../../src/domain/effects.js';
import { scopeOf } from '../../src/domain/errors.js';
import type { OrchestratorEvent } from '../../src/domain/events.js';
import { secretPrints } from '../../src/domain/find-secrets.js';
import { cancelled, type Outcome, success } from '../../src/domain/outcome.js';
import type { RunSignal } from '../../src/domain/run-signal.js';
import { allExecutors } from '../support/all-executors.js';
import { issue, workflow } from '../support/builders.js';
import { FakeClock } from '../support/fake-clock.js';
import { createMemoryStore } from '../support/memory-store.js';

const order = (runId: string, issueId = 'A'): StartOrder => ({
  runId,
  workflowHash: 'h',
  issue: issue(issueId),
  number: 1,
  reason: 'first',
  attempt: null,
  resume: null,
});

/** The real pool and real workspaces around an agent step that the test ends by hand. */
async function setUp() {
  const root = await realpath(await mkdtemp(join(tmpdir(), 'baton-pool-')));
  onTestFinished(() => rm(root, { recursive: true, force: true }));
  const { path: tmpRoot } = await makeDaemonFolder(join(root, 'tmp-folder'));
  onTestFinished(() => rm(tmpRoot, { recursive: true, force: true }));
  const store = createMemoryStore();
  const workspaces = createWorkspaces({ root, scope: 'test' });
  const openRuns = new OpenRuns({ store: store.openRuns, daemonMarker: 'd', bootId: 'b', onError: () => {} }, []);
  const events: OrchestratorEvent[] = [];
  const working: { emit(signal: RunSignal): void; finish(outcome: Outcome): void }[] = [];
  const saved: string[] = [];
  let onEvent = () => {};
  const clock = new FakeClock();
  const deps: RunServices = {
    clock,
    containment: { kind: 'none', reason: 'a test', bash: 'bash', clock },
    workspaces,
    tmpRoot,
    tracker: { issuesByIds: async () => ({ issues: [], unknown: [] }) },
    tools: () => [],
    executors: allExecutors(
      (_, { emit, signal }) =>
        new Promise((finish) => {
          working.push({ emit, finish });
          signal.addEventListener('abort', () => finish(cancelled(signal.reason)));
          onEvent();
        }),
    ),
    checkPlan: async () => {},
    checkFiles: async () => {},
    secret: () => null,
    knownSecrets: async () => secretPrints([], ''),
    continuation: { render: () => '' },
    baseEnv: {},
    observer: combineObservers([]),
    openRuns,
    issueLocks: { take: async () => async () => {} },
    survivors: async () => [],
    saveWork: async ({ key }) => void saved.push(key),
    endLeftovers: async () => {},
    dispatch: (event) => {
      events.push(event);
      onEvent();
    },
  };
  const until = async (holds: () => boolean) => {
    while (!holds()) {
      await new Promise<void>((resolve) => {
        onEvent = resolve;
      });
    }
  };
  const flow = workflow({ config: { workspace: { root } } });
  return { pool: new RunPool(deps), store, clock, root, flow, events, working, saved, until };
}

const exits = (events: readonly OrchestratorEvent[]) => events.filter((event) => event.type === 'run_exited');

test('the workspace of an active run is never removed', async () => {
  const { pool, flow, events, working, saved, until } = await setUp();
  pool.start(order('r1'), flow);
  await until(() => working.length === 1);

  const during = await pool.removeWorkspace(issue('A'), flow);
  working[0]?.finish(success(null));
  await until(() => exits(events).length === 1);
  const after = await pool.removeWorkspace(issue('A'), flow);

  expect(during).toEqual({ ok: false, message: 'a run of this issue is active' });
  expect(after).toEqual({ ok: true });
  expect(saved).toEqual(['A']);
});

test('every start leads to exactly one run_exited, also when it breaks in an unforeseen way', async () => {
  const { pool, flow, events, working, until } = await setUp();
  pool.start(order('r1'), { ...flow, prompt: null as never });
  pool.start(order('r2', 'B'), flow);
  await until(() => working.length === 1 && exits(events).length === 1);

  working[0]?.finish(success(null));
  working[0]?.finish(success(null));
  await until(() => exits(events).length === 2);

  expect(exits(events)).toMatchObject([
    { runId: 'r1', outcome: { state: 'failed', error: { code: 'internal_error' } } },
    { runId: 'r2', outcome: { state: 'success' } },
  ]);
});

test('a stop, an answer and a message to a run that is over go nowhere', async () => {
  const { pool, flow, events, working, until } = await setUp();
  pool.start(order('r1'), flow);
  await until(() => working.length === 1);
  working[0]?.finish(success(null));
  await until(() => exits(events).length === 1);
  const before = events.length;

  pool.stop('r1', 'operator');
  pool.answer('r1', 'q', { kind: 'accept' });
  pool.steer('r1', 'hurry');

  expect(events).toHaveLength(before);
});

test('a run that is stopped while it waits for the ceiling of the queue never begins', async () => {
  const { pool, flow, events, working, until } = await setUp();
  const one = workflow({ config: { ...flow.config, agent: { maxConcurrentAgents: 1 } } });
  pool.start(order('r1'), one);
  pool.start(order('r2', 'B'), one);
  await until(() => working.length === 1);

  pool.stop('r2', 'terminal');
  working[0]?.finish(success(null));
  await until(() => exits(events).length === 2);

  expect(working).toHaveLength(1);
  expect(exits(events)[1]).toMatchObject({
    runId: 'r2',
    outcome: { state: 'cancelled', error: { code: 'CANCELLED_BY_ORCHESTRATOR' } },
  });
});

test('a run whose workspace grows too large ends with an error that parks its issue', async () => {
  const { pool, clock, root, flow, events, working, until } = await setUp();
  pool.start(order('r1'), workflow({ config: { ...flow.config, workspace: { root, maxMb: 1 } } }));
  await until(() => working.length === 1);
  await writeFile(join(root, 'A', 'data'), Buffer.alloc(2_000_000, 1));

  clock.advance(60_000);
  await until(() => exits(events).length === 1);

  const error = { code: 'workspace_too_large', message: expect.stringContaining('workspace.max_mb is 1') };
  expect(exits(events)).toMatchObject([{ outcome: { state: 'failed', error } }]);
  expect(scopeOf('workspace_too_large')).toBe('park');
});

test('a forced exit leaves after_run to the next daemon', async () => {
  const { pool, store, root, flow, events, working, until } = await setUp();
  const scripts = { ...flow.config.hooks.scripts, after_run: 'touch ran' };
  pool.start(order('r1'), workflow({ config: { ...flow.config, hooks: { ...flow.config.hooks, scripts } } }));
  await until(() => working.length === 1);

  await pool.killAll();

  expect(await store.openRuns.all()).toMatchObject([{ marker: 'r1', owesAfterRunIn: 'A' }]);
  expect(await readdir(join(root, 'A'))).toEqual([]);
  expect(exits(events)).toEqual([]);
});
