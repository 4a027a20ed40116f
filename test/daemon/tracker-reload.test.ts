import { readFile, writeFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import type { JsonObject } from '../../src/domain/json.js';
import { agentCommand, type TestDaemon, testDaemon } from '../support/test-daemon.js';
import { FAKE_KINDS, type FakeKind } from '../support/trackers/fake-kinds.js';

async function daemonOn({ start, active, terminal }: FakeKind, more: JsonObject) {
  const fake = await start();
  const { kind, provider, entry } = fake;
  const section = { kind, provider, active_states: [active], terminal_states: [terminal], trust: 'anyone', ...more };
  const issue = fake.add({ state: active });
  const daemon = await testDaemon({
    env: { [fake.variable]: fake.token },
    adapter: { entry, section },
    allowChanges: true,
    settings: `codex: { command: ${JSON.stringify(agentCommand('moves-issue', terminal))} }`,
  });
  await daemon.until('two polls', polled(2));
  return { fake, issue, daemon };
}

function polled(times: number): (state: TestDaemon['state']) => boolean {
  let last: number | null = null;
  let seen = 0;
  return ({ poll }) => {
    if (poll.lastOkAtMs !== null && poll.lastOkAtMs !== last) seen += 1;
    last = poll.lastOkAtMs;
    return seen >= times;
  };
}

async function edit({ workflowPath }: TestDaemon, from: string | RegExp, to: string): Promise<void> {
  const text = await readFile(workflowPath, 'utf8');
  const edited = text.replace(from, to);
  expect(edited).not.toBe(text);
  await writeFile(workflowPath, edited);
}

const isDone = (_state: TestDaemon['state'], event: { readonly type: string } | null) =>
  event?.type === 'workspace_removed';

describe.each(Object.entries(FAKE_KINDS))('a workflow on %s that is edited while the daemon runs', (_, kind) => {
  test('applies from the next poll on: required labels', async () => {
    const { fake, issue, daemon } = await daemonOn(kind, { required_labels: ['go'] });
    const before = Object.keys(daemon.state.claims);

    await edit(daemon, '["go"]', '[]');
    await daemon.until('the issue is done', isDone);

    expect(before).toEqual([]);
    expect(fake.board.get(issue.id)?.state).toBe(kind.terminal);
  });
});

const { linear, redmine } = FAKE_KINDS;

describe.each(Object.entries({ linear, redmine }))('a workflow on %s that is edited', (_, kind) => {
  test('applies from the next poll on: trusted authors', async () => {
    const { fake, issue, daemon } = await daemonOn(kind, { trust: ['nobody-we-know'] });
    const before = Object.keys(daemon.state.claims);

    await edit(daemon, '["nobody-we-know"]', '"anyone"');
    await daemon.until('the issue is done', isDone);

    expect(before).toEqual([]);
    expect(fake.board.get(issue.id)?.state).toBe(kind.terminal);
  });

  test('reads on with the old token when the new one is missing', async () => {
    const { daemon } = await daemonOn(kind, { required_labels: ['go'] });

    await edit(daemon, /"provider":\s*\{/, '"provider": {"api_key": "$NOT_SET", "token": "$NOT_SET", ');
    await daemon.until('the edit is seen', (_state, event) => event?.type === 'config_changed');
    const refused = ({ msg }: (typeof daemon.logLines)[number]) =>
      msg === 'changed settings cannot be used, the old ones stay';
    const keys = () => JSON.stringify(daemon.logLines.find(refused)?.keys ?? []);
    await expect.poll(keys, { timeout: 10_000 }).toContain('tracker.provider');
    await daemon.until('two more polls', polled(3));

    expect(daemon.state.poll.failure).toBeNull();
    expect(daemon.state.holds).toEqual({});
  });
});
