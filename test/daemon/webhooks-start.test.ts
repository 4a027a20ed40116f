import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { place, processesIn } from '../cli/command.js';

const ENV = { LINEAR_API_KEY: 'lin_api_0123456789abcdef', HOOK_SECRET: 'lin_wh_0123456789abcdef' };

/** A workflow whose webhooks are to come to a port that somebody has, on a tracker that nobody runs. */
async function workflowOnTakenPort() {
  const here = place();
  const other = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => other.once('listening', resolve));
  onTestFinished(() => void other.close());
  const { port } = other.address() as AddressInfo;
  here.write(
    'WORKFLOW.md',
    `---
tracker: { kind: linear, provider: { endpoint: "http://127.0.0.1:1/graphql", project_slug: baton-0123456789ab } }
webhooks: { port: ${port}, secret: $HOOK_SECRET }
workspace: { root: ./workspaces, min_free_mb: 1 }
---
Go
`,
  );
  return { here, port };
}

test('a daemon whose webhook port is taken exits with 2, names the port and the remedy, and the next one can start', async () => {
  const { here, port } = await workflowOnTakenPort();

  const first = await here.with(ENV, 'WORKFLOW.md', '--state-dir', 'state');
  const second = await here.with(ENV, 'WORKFLOW.md', '--state-dir', 'state');

  expect([first.code, second.code]).toEqual([2, 2]);
  for (const { stderr } of [first, second])
    expect(stderr).toMatch(new RegExp(`port_in_use: Port ${port} .*webhooks\\.port`));
  expect(processesIn(here.dir)).toEqual([]);
});

test('--once listens for no webhooks: it leaves before one could help, and the port is that of the daemon beside it', async () => {
  const { here } = await workflowOnTakenPort();

  const { code, stderr, stdout } = await here.with(ENV, 'WORKFLOW.md', '--once', '--state-dir', 'state');

  expect(code).toBe(1);
  expect(stdout + stderr).toMatch(/the tracker cannot be read \(tracker_request\)/);
  expect(stdout + stderr).not.toMatch(/port_in_use|listening for webhooks/);
});
