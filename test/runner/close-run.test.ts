import { mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { closeRun } from '../../runner/close-run.js';
import { OpenRuns } from '../../runner/open-runs.js';
import type { RunServices } from '../../runner/run-context.js';
import { makeDaemonFolder } from '../../runner/run-folder.js';
import { combineObservers } from '../../runner/run-observer.js';
import { createWorkspaces } from '../../runner/workspace/workspaces.js';
import { createClock } from '../../src/clock.js';
import type { StartOrder } from '../../src/domain/effects.js';
import { secretPrints } from '../../src/domain/find-secrets.js';
import { issue, workflow } from '../support/builders.js';
import { createMemoryStore } from '../support/memory-store.js';

const order: StartOrder = {
  runId: 'r1',
  workflowHash: 'h',
  issue: issue('A'),
  number: 3,
  reason: 'retry',
  attempt: 2,
  resume: null,
};

/** A run as a killed daemon leaves it: its workspace, its notes; and the next daemon. */
async function setUp(afterRun: string | null, options: { readonly owes: boolean; readonly survivors?: number[][] }) {
  const dir = await realpath(await mkdtemp(join(tmpdir(), 'baton-close-')));
  onTestFinished(() => rm(dir, { recursive: true, force: true }));
  const { path: tmpRoot } = await makeDaemonFolder(join(dir, 'tmp-folder'));
  onTestFinished(() => rm(tmpRoot, { recursive: true, force: true }));
  const clock = createClock();
  onTestFinished(() => clock.close());
  const store = createMemoryStore();
  const workspaces = createWorkspaces({ root: dir, scope: 'test' });
  const workspace = await workspaces.prepare(order.issue);
  await workspaces.confirmCreated(workspace);
  const trace = { store: store.openRuns, daemonMarker: 'd', bootId: 'b', onError: () => {} };
  const before = new OpenRuns(trace, []);
  before.begin('r1', 'A');
  if (options.owes) await before.afterRunDue('r1', workspace.key);
  const openRuns = new OpenRuns(trace, await store.openRuns.all());
  const survivors = [...(options.survivors ?? [])];
  const told: string[] = [];
  const deps: Partial<RunServices> = {
    clock,
    containment: { kind: 'none', reason: 'a test', bash: 'bash', clock, trace: openRuns },
    workspaces,
    tmpRoot,
    baseEnv: { PATH: process.env.PATH },
    knownSecrets: async () => secretPrints([], ''),
    checkFiles: async () => {},
    openRuns,
    survivors: async () => survivors.shift() ?? [],
    dispatch: (event) => void told.push(`${event.type} ${'runId' in event ? event.runId : ''}`),
    observer: combineObservers([
      {
        hookEnded: ({ hook, outcome }) => void told.push(`${hook} ${outcome}`),
        warned: (_, message) => void told.push(message),
      },
    ]),
  };
  const flow = workflow({ config: { workspace: { root: dir }, hooks: { scripts: { after_run: afterRun } } } });
  const close = () => closeRun(order, flow, deps as RunServices, (signal) => void told.push(signal.type));
  return { close, told, store, workspace, openRuns };
}

test('an after_run that is due runs once, with the outcome interrupted', async () => {
  const { close, told, store, workspace } = await setUp(
    'echo "$BATON_HOOK $BATON_RUN_OUTCOME $BATON_RUN_ID $BATON_ATTEMPT" >> calls',
    { owes: true },
  );

  const outcome = await close();
  await close();

  expect(outcome).toMatchObject({ state: 'cancelled', error: { code: 'INTERRUPTED' } });
  expect(await readFile(join(workspace.path, 'calls'), 'utf8')).toBe('after_run interrupted r1 2\n');
  expect(told).toEqual(['after_run ok']);
  expect(await store.openRuns.all()).toEqual([]);
});

test('a run that did not reach before_run needs no after_run', async () => {
  const { close, told, store } = await setUp('echo >> calls', { owes: false });

  await close();

  expect(told).toEqual([]);
  expect(await store.openRuns.all()).toEqual([]);
});

test('a run is closed even when its after_run fails or its workspace is gone', async () => {
  const failing = await setUp('exit 3', { owes: true });
  const gone = await setUp('echo >> calls', { owes: true });
  await rm(gone.workspace.path, { recursive: true });

  expect(await failing.close()).toMatchObject({ error: { code: 'INTERRUPTED' }, meta: { afterRunFailed: true } });
  expect(await gone.close()).toMatchObject({ error: { code: 'INTERRUPTED' } });
  expect(failing.told).toEqual(['after_run failed']);
  expect(gone.told).toEqual([]);
});

test('nothing happens in the workspace while processes of the run are alive', async () => {
  const { close, told, workspace } = await setUp('cat seen', { owes: true, survivors: [[42], [42], []] });
  await writeFile(join(workspace.path, 'seen'), '');

  await close();

  expect(told).toEqual(['run_unkillable r1', 'after_run ok']);
});

test('a record that could not be removed is removed with a later one', async () => {
  const store = createMemoryStore();
  const troubles: string[] = [];
  let isFull = false;
  const remove = async (marker: string) => {
    if (isFull) throw new Error('disk full');
    await store.openRuns.remove(marker);
  };
  const onError = ({ message }: Error) => troubles.push(message);
  const trace = { store: { ...store.openRuns, remove }, daemonMarker: 'd', bootId: 'b', onError };
  const openRuns = new OpenRuns(trace, []);
  for (const marker of ['r1', 'r2', 'r3']) {
    openRuns.begin(marker, 'A');
    await openRuns.afterRunDue(marker, 'A');
  }

  isFull = true;
  await openRuns.end('r1');
  await openRuns.end('r2');
  isFull = false;
  await openRuns.end('r3');

  expect(troubles).toEqual(['disk full', 'disk full']);
  expect(await store.openRuns.all()).toEqual([]);
});

test('the processes of an after_run are recorded while it is due', async () => {
  const { openRuns, store } = await setUp(null, { owes: true });

  openRuns.started('r1', [{ pid: 5, startTime: '7' }]);

  await expect
    .poll(() => store.openRuns.all())
    .toMatchObject([{ marker: 'r1', owesAfterRunIn: 'A', processes: [{ pid: 5, startTime: '7', bootId: 'b' }] }]);
});

test('a process that ends before it is recorded causes no write', async () => {
  const { openRuns, store } = await setUp(null, { owes: true });
  const before = await store.openRuns.all();
  const [quick, slow] = [
    { pid: 5, startTime: '7' },
    { pid: 6, startTime: '8' },
  ];

  openRuns.started('r1', [quick]);
  openRuns.ended('r1', [quick]);
  openRuns.started('r1', [slow]);

  await expect
    .poll(async () => (await store.openRuns.all()).flatMap(({ processes }) => processes))
    .toEqual([...before.flatMap(({ processes }) => processes), { ...slow, bootId: 'b' }]);
});
