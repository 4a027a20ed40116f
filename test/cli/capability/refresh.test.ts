import { chmodSync, mkdirSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { discoverCapabilities } from '../../../runner/executors/capability/discover-capabilities.js';
import { capabilityApi } from '../../../src/daemon-capability-api.js';
import { defaultStateDir } from '../../../src/state-dir.js';
import { writeHttpAddress } from '../../../src/status/http-address.js';
import { startHttp } from '../../../src/status/http-server.js';
import { openHttpToken } from '../../../src/status/http-token.js';
import { workflowKey } from '../../../src/workflow/workspace-root.js';
import { type World, world } from '../cli-fixture.js';
import { capability, describeCapability, executor } from './capability-fixture.js';

/** A project with one executor, and the state directory that its daemon would have. */
async function project(): Promise<{ here: World; stateDir: string }> {
  const here = world();
  executor(here.dir, 'mine', ['power'], '');
  describeCapability(here.dir, 'power', 'plan');
  const stateDir = defaultStateDir(await workflowKey(join(here.dir, 'WORKFLOW.md')), here.env, here.homeDir);
  return { here, stateDir };
}

/** What a daemon serves; how often it looked. */
async function listening(here: World, stateDir: string, options: { token?: string } = {}) {
  mkdirSync(stateDir, { recursive: true, mode: 0o700 });
  const seen = { refreshes: 0 };
  const refresh = async (projectDir: string) => {
    seen.refreshes += 1;
    return discoverCapabilities({ projectDir, homeDir: here.homeDir });
  };
  const server = await startHttp({
    ...{ host: '127.0.0.1', port: 0, allowedHosts: [] },
    ...{ snapshot: () => null, issue: () => null, notReady: () => null },
    token: options.token ?? (await openHttpToken(stateDir)),
    capabilities: capabilityApi({ refresh, stats: () => ({}) }, () => here.dir),
    clean: (json) => json,
    onError: (error) => {
      throw error;
    },
  });
  onTestFinished(() => server.close());
  await writeHttpAddress(stateDir, { url: server.url, pid: process.pid });
  return { server, seen };
}

describe('baton capability refresh', () => {
  test('S3-08 lets the running daemon look again and prints what it found', async () => {
    const { here, stateDir } = await project();
    const { server, seen } = await listening(here, stateDir);

    const code = await capability(here, 'refresh');

    expect(code).toBe(0);
    expect(seen.refreshes).toBe(1);
    expect(here.out()).toContain(`The daemon at ${server.url} has looked again.\n`);
    expect(here.out()).toMatch(/power\/plan +by mine/);
  });

  test('S3-08 finds the daemon by its --state-dir', async () => {
    const { here } = await project();
    const { seen } = await listening(here, join(here.dir, 'state'));

    expect(await capability(here, 'refresh', '--state-dir', 'state')).toBe(0);
    expect(seen.refreshes).toBe(1);
  });

  test('without a daemon says that none needs to be told, and what would be found', async () => {
    const { here } = await project();

    expect(await capability(here, 'refresh')).toBe(0);

    expect(here.out()).toMatch(/^No running daemon .*every run looks again.*\n\nExecutors\n/);
    expect(here.out()).toMatch(/power\/plan +by mine/);
  });

  test('shows the token to nobody who only listens where a killed daemon did', async () => {
    const { here, stateDir } = await project();
    mkdirSync(stateDir, { recursive: true });
    const asked: unknown[] = [];
    const stranger = createServer((request, response) => {
      asked.push(request.headers);
      response.end();
    });
    await new Promise<void>((resolve) => stranger.listen(0, '127.0.0.1', () => resolve()));
    onTestFinished(() => void stranger.close());
    await openHttpToken(stateDir);
    const url = `http://127.0.0.1:${(stranger.address() as AddressInfo).port}`;
    await writeHttpAddress(stateDir, { url, pid: 2 ** 22 + 1 });

    expect(await capability(here, 'refresh')).toBe(0);

    expect(asked).toEqual([]);
    expect(here.out()).toMatch(/^No running daemon/);
  });

  test('that the daemon refuses is told with its reason, with exit 1', async () => {
    const { here, stateDir } = await project();
    await listening(here, stateDir, { token: 'another' });
    await openHttpToken(stateDir);

    expect(await capability(here, 'refresh')).toBe(1);

    expect(here.out()).toBe('');
    expect(here.err()).toMatch(/did not refresh: This changes something and needs the token/);
  });

  test.each<[string, string | Buffer]>([
    ['no JSON', 'hello'],
    ['other JSON', '{"executors": 5}'],
    ['too much', Buffer.alloc(9 * 1024 * 1024, 32)],
  ])('that is answered with %s is told, with exit 1', async (_, answer) => {
    const { here, stateDir } = await project();
    mkdirSync(stateDir, { recursive: true });
    const server = createServer((_request, response) => response.end(answer));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()));
    onTestFinished(() => void server.close());
    await openHttpToken(stateDir);
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    await writeHttpAddress(stateDir, { url, pid: process.pid });

    expect(await capability(here, 'refresh')).toBe(1);
    expect(here.err()).toMatch(/did not refresh: it answered/);
  });

  test('of a daemon that does not listen any more is told, with exit 1', async () => {
    const { here, stateDir } = await project();
    const { server } = await listening(here, stateDir);
    await server.close();

    expect(await capability(here, 'refresh')).toBe(1);
    expect(here.err()).toMatch(/did not refresh: connect ECONNREFUSED/);
  });

  test('of a workflow that is not there is refused with exit 2', async () => {
    const { here } = await project();

    expect(await capability(here, 'refresh', 'none.md')).toBe(2);
    expect(here.err()).toMatch(/missing_workflow_file/);
  });

  test('an address that others could have written is not used', async () => {
    const { here, stateDir } = await project();
    const { seen } = await listening(here, stateDir);
    chmodSync(join(stateDir, 'http-address'), 0o666);

    expect(await capability(here, 'refresh')).toBe(0);
    expect(seen.refreshes).toBe(0);
  });
});
