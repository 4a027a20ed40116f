import { createServer } from 'node:net';
import { expect, test } from 'vitest';
import { agentCommand, type TestDaemon, testDaemon } from '../support/test-daemon.js';

// biome-ignore lint/suspicious/noExplicitAny: what arrives has no type.
const get = async (daemon: TestDaemon, path: string): Promise<{ status: number; json: any }> => {
  const response = await daemon.request(path);
  return { status: response.status, json: await response.json() };
};

test('server.port serves the state of the daemon until it stops', async () => {
  const settings = `server: { port: 0 }\ncodex: { command: "${agentCommand('hangs')}" }`;
  const daemon = await testDaemon({ settings });
  daemon.tracker.put({ id: '1', identifier: 'AB-1' });
  await daemon.until('a turn', (state) => state.claims['1']?.live.run?.session != null);

  const state = await get(daemon, '/api/v1/state');
  const issue = await get(daemon, '/api/v1/AB-1');
  const ready = await get(daemon, '/readyz');

  expect(state.json).toMatchObject({ counts: { running: 1 }, why_idle: null, workflow: { path: daemon.workflowPath } });
  expect(state.json.running[0].session_id).toBeTruthy();
  expect(issue.json.status).toBe('running');
  expect(ready.status).toBe(200);
  expect(await daemon.stop()).toBe(0);
  await expect(get(daemon, '/healthz')).rejects.toThrow();
});

test('a port in use prevents the start, and no run starts', async () => {
  const taken = createServer();
  await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', () => resolve()));
  const address = taken.address();
  const port = typeof address === 'object' ? address?.port : 0;

  await expect(testDaemon({ settings: `server: { port: ${port} }` })).rejects.toMatchObject({ code: 'port_in_use' });
  taken.close();
});
