import { createServer } from 'node:net';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
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
  // A transcript is written a moment after what it describes.
  const issue = await vi.waitFor(async () => {
    const found = await get(daemon, '/api/v1/AB-1');
    expect(found.json.logs.codex_session_logs).toHaveLength(1);
    return found;
  });
  const ready = await get(daemon, '/readyz');

  expect(state.json).toMatchObject({ counts: { running: 1 }, why_idle: null, workflow: { path: daemon.workflowPath } });
  expect(state.json.running[0].session_id).toBeTruthy();
  expect(issue.json.status).toBe('running');
  const path = join(daemon.stateDir, 'transcripts', `${issue.json.running.run_id}.jsonl`);
  expect(issue.json).toMatchObject({
    workspace: { path: join(daemon.workspaces, 'AB-1') },
    attempts: { restart_count: 0, current_retry_attempt: 0 },
    logs: { codex_session_logs: [{ label: 'run 1', path, url: expect.stringMatching(/^\/api\/v1\/issues\/AB-1/) }] },
    ...{ last_error: null, retry: null, tracked: {} },
  });
  expect(issue.json.recent_events[0]).toEqual({
    at: expect.stringMatching(/Z$/),
    event: expect.any(String),
    message: expect.stringMatching(/./),
  });
  const [log] = issue.json.logs.codex_session_logs;
  expect((await daemon.request(log.url)).status).toBe(200);
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
