import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { discoverCapabilities } from '../../../runner/executors/capability/definitions.js';
import { capabilityApi } from '../../../src/daemon/capability-api.js';
import { defaultStateDir } from '../../../src/state-dir.js';
import { workflowKey } from '../../../src/workflow/workflow-key.js';
import { type World, world } from '../cli-fixture.js';
import { answering } from '../client/scripted-socket.js';
import { capability, describeCapability, executor } from './capability-fixture.js';

/** A project with one executor, and the state directory that its daemon would have. */
async function project(): Promise<{ here: World; stateDir: string }> {
  const here = world();
  executor(here.dir, 'mine', ['power'], '');
  describeCapability(here.dir, 'power', 'plan');
  const stateDir = defaultStateDir(await workflowKey(join(here.dir, 'WORKFLOW.md')), here.env, here.homeDir);
  return { here, stateDir };
}

/** The responses of a daemon, and how often it discovered. */
async function listening(here: World, stateDir: string) {
  const seen = { asked: [] as string[], refreshes: 0 };
  const refresh = async (projectDir: string) => {
    seen.refreshes += 1;
    return discoverCapabilities({ projectDir, homeDir: here.homeDir });
  };
  const api = capabilityApi({ refresh, stats: () => ({}) }, () => here.dir);
  const server = await answering(stateDir, async ({ method, url }, response) => {
    seen.asked.push(`${method} ${url}`);
    response.end(JSON.stringify(await api.refresh()));
  });
  return { server, seen };
}

describe('baton capability refresh', () => {
  test('S3-08 lets the running daemon discover again and prints the result', async () => {
    const { here, stateDir } = await project();
    const { seen } = await listening(here, stateDir);

    const code = await capability(here, 'refresh');

    expect(code).toBe(0);
    expect(seen).toEqual({ asked: ['POST /api/capability/refresh'], refreshes: 1 });
    expect(here.out()).toContain('The daemon has searched again.\n');
    expect(here.out()).toMatch(/power\/plan +by mine/);
  });

  test('S3-08 finds the daemon by its --state-dir', async () => {
    const { here } = await project();
    const { seen } = await listening(here, join(here.dir, 'state'));

    expect(await capability(here, 'refresh', '--state-dir', 'state')).toBe(0);
    expect(seen.refreshes).toBe(1);
  });

  test('without a daemon prints that none is running, and what a daemon would discover', async () => {
    const { here } = await project();

    expect(await capability(here, 'refresh')).toBe(0);

    expect(here.out()).toMatch(/^No daemon of this workflow is running.*every run searches.*\n\nExecutors\n/);
    expect(here.out()).toMatch(/power\/plan +by mine/);
  });

  test('treats a daemon that no longer listens as not running', async () => {
    const { here, stateDir } = await project();
    const { server } = await listening(here, stateDir);
    await new Promise((resolve) => server.close(resolve));

    expect(await capability(here, 'refresh')).toBe(0);
    expect(here.out()).toMatch(/^No daemon of this workflow is running/);
  });

  test('exits 1 with the reason when the daemon refuses', async () => {
    const { here, stateDir } = await project();
    await answering(stateDir, (_, response) =>
      response.writeHead(503).end('{"error":{"code":"busy","message":"not now\\u001b[2J"}}'),
    );

    expect(await capability(here, 'refresh')).toBe(1);

    expect(here.out()).toBe('');
    expect(here.err()).toBe('baton: the daemon did not refresh: not now\\u001b[2J\n');
  });

  test.each<[string, string | Buffer]>([
    ['no JSON', 'hello'],
    ['other JSON', '{"executors": 5}'],
    ['too much', Buffer.alloc(65 * 1024 * 1024, 32)],
  ])('exits 1 when the daemon answers with %s', async (_, answer) => {
    const { here, stateDir } = await project();
    await answering(stateDir, (_request, response) => response.end(answer));

    expect(await capability(here, 'refresh')).toBe(1);
    expect(here.err()).toMatch(/did not refresh: .*daemon/);
  });

  test('exits 2 for a missing workflow', async () => {
    const { here } = await project();

    expect(await capability(here, 'refresh', 'none.md')).toBe(2);
    expect(here.err()).toMatch(/missing_workflow_file/);
  });
});
