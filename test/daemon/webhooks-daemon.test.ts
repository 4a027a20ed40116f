import { createHmac } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { agentCommand, testDaemon } from '../support/test-daemon.js';
import { startFakeLinear } from '../support/trackers/fake-linear.js';

const SECRET = 'lin_wh_0123456789canary';
const HOUR_MS = 3_600_000;

const workflow = (endpoint: string) => `---
tracker: { kind: linear, provider: { endpoint: "${endpoint}", project_slug: baton-0123456789ab } }
polling: { interval_ms: ${HOUR_MS} }
webhooks: { port: 0, secret: $HOOK_SECRET }
workspace: { root: workspaces, min_free_mb: 1 }
codex: { command: ${JSON.stringify(agentCommand('moves-issue'))} }
---
Work on {{ issue.identifier }}
`;

test('with an hour between polls a webhook of Linear starts work at once; forged, old and repeated ones ask for nothing', async () => {
  const fake = await startFakeLinear();
  const daemon = await testDaemon({
    adapter: { entry: fake.entry, section: {} },
    env: { LINEAR_API_KEY: fake.token, HOOK_SECRET: SECRET },
    before: (dir) => writeFile(join(dir, 'WORKFLOW.md'), workflow(`${fake.server.url}/graphql`)),
  });
  let polls = 0;
  void daemon.until('counts to the end', (_state, event) => {
    if (event?.type === 'observed') polls++;
    return event?.type === 'shutdown_requested';
  });
  await daemon.until('the first poll', (state) => state.poll.lastOkAtMs !== null);
  const url = String(daemon.logLines.find(({ msg }) => msg === 'listening for webhooks')?.url);
  const post = async (webhookTimestamp: number, secret = SECRET) => {
    const body = JSON.stringify({ type: 'Issue', action: 'create', webhookTimestamp });
    const signature = createHmac('sha256', secret).update(body).digest('hex');
    return (await fetch(url, { method: 'POST', body, headers: { 'linear-signature': signature } })).status;
  };
  const { id } = fake.add();
  const before = polls;

  const now = Date.now();
  const statuses = [
    await post(now, 'a-secret-that-is-not-ours'),
    await post(now - HOUR_MS),
    await post(now),
    await post(now),
  ];
  await daemon.until('the issue was worked on', (_state, event) => event?.type === 'workspace_removed');

  expect(statuses).toEqual([401, 401, 200, 409]);
  expect(fake.board.get(id)?.state).toBe('Done');
  expect(polls - before).toBe(1);
  expect(daemon.logLines.filter(({ msg }) => msg === 'webhook refused')).toHaveLength(1);
  expect(await daemon.stop()).toBe(0);
  expect(JSON.stringify(daemon.logLines)).not.toContain(SECRET);
});
