import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { BatonError } from '../../src/domain/errors.js';
import { takeLocks } from '../../src/store/instance-lock.js';
import type { TrackerEntry } from '../../src/tracker/registry.js';
import { MemoryTracker } from '../support/memory-tracker.js';
import { agentCommand, allowHeld, type TestDaemon, testDaemon } from '../support/test-daemon.js';

class Board extends MemoryTracker {
  override readonly scope: string;
  constructor(name: string) {
    super();
    this.scope = `memory://${name}`;
  }

  /** Called when the daemon opens the board. */
  prepare: (signal: AbortSignal) => Promise<void> = async () => {};
}

/** A daemon on the board `one`; its provider names the board. Runs wait for the file `go`. */
async function start(settings = '') {
  const boards = new Map(['one', 'two'].map((name) => [name, new Board(name)]));
  const board = (name: string): Board => {
    const found = boards.get(name);
    if (!found) throw new BatonError('invalid_tracker_config', `there is no board ${name}`);
    return found;
  };
  const entry: TrackerEntry = {
    kind: 'memory',
    defaults: board('one').defaults,
    create: ({ config }) => board(String(config.provider.board)),
    verifyWebhook: () => ({ ok: false, status: 401, reason: 'no webhook' }),
  };
  const daemon = await testDaemon({
    adapter: { entry, section: { kind: 'memory', provider: { board: 'one' } } },
    settings: `hooks: { before_run: 'pwd >> ../../started; while [ ! -e ../../go ]; do sleep 0.02; done' }
agent: { max_turns: 1, max_runs_without_progress: 1 }
codex: { command: "${agentCommand('obedient')}" }
${settings}`,
  });
  const started = async () => {
    const text = await readFile(join(daemon.dir, 'started'), 'utf8').catch(() => '');
    return text.split('\n').slice(0, -1);
  };
  return { daemon, board, started, go: () => writeFile(join(daemon.dir, 'go'), '') };
}

/** A change that a person allows. */
async function edit(daemon: TestDaemon, from: string, to: string): Promise<void> {
  const text = await readFile(daemon.workflowPath, 'utf8');
  expect(text).toContain(from);
  await writeFile(daemon.workflowPath, text.replace(from, to));
  await allowHeld(daemon);
}

const parked = (id: string) => (state: TestDaemon['state']) => state.claims[id]?.status.kind === 'parked';
const line = (daemon: TestDaemon, msg: string) => daemon.logLines.find((one) => one.msg === msg);

test('another workspace.root: nothing new starts, the current run ends in the old root, the next one starts in the new root', async () => {
  const { daemon, board, started, go } = await start();
  const elsewhere = join(daemon.dir, 'elsewhere');
  board('one').put('A');
  await expect.poll(started, { timeout: 10_000 }).toHaveLength(1);

  await edit(daemon, 'root: workspaces', 'root: elsewhere');
  await daemon.until('the change waits', ({ reopenFor }) => reopenFor.length > 0);
  board('one').put('B');
  await daemon.until('B is seen', ({ candidates }) => 'B' in candidates);
  const whileWaiting = await started();
  await go();
  await daemon.until('B has run', parked('B'));

  expect(whileWaiting).toEqual([join(daemon.workspaces, 'A')]);
  expect(await started()).toEqual([join(daemon.workspaces, 'A'), join(elsewhere, 'B')]);
  expect(daemon.state.claims.A?.status.kind).toBe('parked');
  expect(daemon.logLines.filter(({ msg }) => msg === 'started').map(({ workspaces }) => workspaces)).toEqual([
    daemon.workspaces,
    elsewhere,
  ]);
});

test('another tracker: what was claimed in the old one is released, also where the ids are the same', async () => {
  const { daemon, board, started, go } = await start();
  await go();
  board('one').put({ id: '1', identifier: 'ONE-1' });
  await daemon.until('ONE-1 has run', parked('1'));

  board('two').put({ id: '1', identifier: 'TWO-1' });
  await edit(daemon, '"one"', '"two"');
  await daemon.until('TWO-1 has run', (state) => parked('1')(state) && state.claims['1']?.issue.identifier === 'TWO-1');

  expect(await started()).toEqual(['ONE-1', 'TWO-1'].map((name) => join(daemon.workspaces, name)));
  expect(daemon.state.records['1']?.runs).toBe(1);
  expect(line(daemon, 'another tracker: what was claimed in the last one is released')).toMatchObject({ issues: 1 });
  expect(board('one').isClosed).toBe(true);
});

test('a root that another daemon uses: the old one stays with the reason, and work goes on', async () => {
  const { daemon, board, started, go } = await start();
  await go();
  const elsewhere = join(daemon.dir, 'elsewhere');
  await mkdir(elsewhere, { mode: 0o700 });
  const holder = { pid: process.pid, since: new Date().toISOString(), workflow: '/other/WORKFLOW.md' };
  const other = await takeLocks({ keys: [`the workspaces in ${elsewhere}`], dir: join(daemon.dir, 'locks'), holder });
  onTestFinished(() => other.release());

  await edit(daemon, 'root: workspaces', 'root: elsewhere');
  const refused = () => line(daemon, 'changed settings cannot be used, the old ones stay');
  await expect.poll(refused, { timeout: 10_000 }).toMatchObject({ code: 'already_running', keys: ['workspace.root'] });
  board('one').put('A');
  await daemon.until('A has run', parked('A'));

  expect(await started()).toEqual([join(daemon.workspaces, 'A')]);
  expect(await readdir(join(daemon.dir, 'locks'))).not.toEqual([]);
});

test('a tracker that cannot be opened: the old one stays with the reason, until the change is taken back', async () => {
  const { daemon, board } = await start();

  await edit(daemon, '"one"', '"three"');
  const refused = () => line(daemon, 'changed settings cannot be used, the old ones stay');
  await expect.poll(refused, { timeout: 10_000 }).toMatchObject({ detail: 'there is no board three' });
  await edit(daemon, '"three"', '"two"');
  await daemon.until('the other board is read', () => board('two').calls.length > 0);

  expect(daemon.state.poll.failure).toBeNull();
});

test('a change that is taken back before it takes effect leaves everything as it was', async () => {
  const { daemon, board, started, go } = await start();
  board('one').put('A');
  await expect.poll(started, { timeout: 10_000 }).toHaveLength(1);

  await edit(daemon, 'root: workspaces', 'root: elsewhere');
  await daemon.until('the change waits', ({ reopenFor }) => reopenFor.length > 0);
  await edit(daemon, 'root: elsewhere', 'root: workspaces');
  await daemon.until('it waits no longer', ({ reopenFor }) => reopenFor.length === 0);
  board('one').put('B');
  await go();
  await daemon.until('B has run', parked('B'));

  expect(await started()).toEqual(['A', 'B'].map((name) => join(daemon.workspaces, name)));
  // The lock on the other root is free again.
  const holder = { pid: process.pid, since: new Date().toISOString(), workflow: '/other/WORKFLOW.md' };
  const keys = [`the workspaces in ${join(daemon.dir, 'elsewhere')}`];
  await (await takeLocks({ keys, dir: join(daemon.dir, 'locks'), holder })).release();
});

test('a port that is taken: the daemon goes on with the settings before', async () => {
  const { daemon, board } = await start('server: { port: 0 }');
  const taken = createServer();
  await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void taken.close());
  const address = taken.address();
  const port = typeof address === 'object' ? address?.port : 0;
  const urls = () => daemon.logLines.flatMap(({ msg, url }) => (msg === 'serving status over HTTP' ? [url] : []));

  const token = await readFile(join(daemon.stateDir, 'http-token'), 'utf8');

  await edit(daemon, 'port: 0', `port: ${port}`);
  await expect.poll(() => urls().length, { timeout: 10_000 }).toBe(2);
  board('one').put({ id: 'A', state: 'Backlog' });
  const calls = board('one').calls.length;
  await daemon.until('it polls again', () => board('one').calls.length > calls + 2);

  expect(urls()[1]).toBe(urls()[0]);
  expect(await readFile(join(daemon.stateDir, 'http-token'), 'utf8')).toBe(token);
  expect(line(daemon, 'changed settings cannot be used, the old ones stay')).toMatchObject({ keys: ['server.port'] });
  expect(daemon.state.config.server.port).toBe(0);
});

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** The address and the token after a change of the settings. */
async function servedAfter(daemon: TestDaemon, from: string, to: string) {
  const urls = () =>
    daemon.logLines.flatMap(({ msg, url }) => (msg === 'serving status over HTTP' ? [String(url)] : []));
  const count = urls().length;
  await edit(daemon, from, to);
  await expect.poll(() => urls().length, { timeout: 10_000 }).toBe(count + 1);
  const token = (await readFile(join(daemon.stateDir, 'http-token'), 'utf8')).trim();
  const url = urls()[count] ?? '';
  const statusWith = async (given: string) =>
    (await fetch(`${url}/api/v1/state`, { headers: { authorization: `Bearer ${given}` } })).status;
  return { url, token, statusWith };
}

test('SEC-35 the token stays at the same address only, because another program can take an address that is left', async () => {
  const { daemon } = await start('server: { port: 0 }');
  const before = (await readFile(join(daemon.stateDir, 'http-token'), 'utf8')).trim();

  const same = await servedAfter(daemon, 'root: workspaces', 'root: elsewhere');
  const port = await freePort();
  const moved = await servedAfter(daemon, 'port: 0', `port: ${port}`);

  expect(same.token).toBe(before);
  expect(moved.url).toBe(`http://127.0.0.1:${port}`);
  expect(moved.token).not.toBe(before);
  expect([await moved.statusWith(moved.token), await moved.statusWith(before)]).toEqual([200, 401]);
});

/** The daemon has been opened with this root and has polled. */
const worksIn = (root: string) => (state: TestDaemon['state']) =>
  state.config.workspace.root === root && state.poll.lastOkAtMs !== null;

/** Takes a port as soon as it is free. */
function takePort(url: unknown): Promise<void> {
  const port = Number(new URL(String(url)).port);
  const squatter = createServer();
  onTestFinished(() => void squatter.close());
  return new Promise((resolve) => {
    squatter.on('error', () => setImmediate(() => squatter.listen(port, '127.0.0.1')));
    squatter.listen(port, '127.0.0.1', resolve);
  });
}

test('a program that takes the port of the webhooks meanwhile does not end the daemon either', async () => {
  const port = await freePort();
  const { daemon } = await start(`webhooks: { port: ${port}, secret: 0123456789abcdef }`);
  const isTaken = takePort(line(daemon, 'listening for webhooks')?.url);
  const goesOn = () => line(daemon, 'the port of the webhooks is taken, the daemon goes on without them');

  await edit(daemon, 'root: workspaces', 'root: elsewhere');
  await isTaken;
  await expect.poll(goesOn, { timeout: 10_000 }).toMatchObject({ level: 'error', code: 'port_in_use' });

  await daemon.until('it polls again', worksIn(daemon.workspaces));
});

test('SEC-35 a program that takes the port while the daemon opens again does not end the daemon', async () => {
  const { daemon } = await start('server: { port: 0 }');
  const isTaken = takePort(line(daemon, 'serving status over HTTP')?.url);

  await edit(daemon, 'root: workspaces', 'root: elsewhere');
  await isTaken;
  await daemon.until('the daemon goes on', worksIn(join(daemon.dir, 'elsewhere')));
  await edit(daemon, 'root: elsewhere', 'root: further');
  await daemon.until('the daemon goes on once more', worksIn(join(daemon.dir, 'further')));

  const taken = line(daemon, 'the port of the page is taken, the daemon goes on without a page');
  expect(taken).toMatchObject({ level: 'error', code: 'port_in_use' });
  const urls = daemon.logLines.filter(({ msg }) => msg === 'serving status over HTTP').map(({ url }) => url);
  expect(new Set(urls).size).toBe(2);
});

test('a daemon whose settings wait ends by a signal like any other', async () => {
  const { daemon, board, started } = await start();
  board('one').put('A');
  await expect.poll(started, { timeout: 10_000 }).toHaveLength(1);
  await edit(daemon, 'root: workspaces', 'root: elsewhere');
  await daemon.until('the change waits', ({ reopenFor }) => reopenFor.length > 0);

  expect(await daemon.stop()).toBe(0);
  expect(await readdir(daemon.dir)).toContain('elsewhere');
});

test('a daemon that ends while it checks new settings ends the check', async () => {
  const { daemon, board } = await start();
  let isChecking = false;
  board('two').prepare = (signal) => {
    isChecking = true;
    return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
  };
  await edit(daemon, '"one"', '"two"');
  await expect.poll(() => isChecking, { timeout: 10_000 }).toBe(true);

  expect(await daemon.stop()).toBe(0);
  expect(board('two').isClosed).toBe(true);
});
