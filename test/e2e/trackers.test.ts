import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { OrchestratorEvent } from '../../src/domain/events.js';
import { agentCommand, testDaemon } from '../support/test-daemon.js';
import { FAKE_KINDS, type FakeKind } from '../support/trackers/fake-kinds.js';

async function daemonOn({ start, active, terminal }: FakeKind, agent: string, settings = '') {
  const fake = await start();
  const provider = fake.provider;
  const section = { kind: fake.kind, provider, active_states: [active], terminal_states: [terminal], trust: 'anyone' };
  const open = () =>
    testDaemon({
      env: { [fake.variable]: fake.token },
      adapter: { entry: fake.entry, section },
      settings: `codex: { command: ${JSON.stringify(agent)} }\nhooks: { before_remove: "cp work.txt ../../$BATON_ISSUE_IDENTIFIER.kept" }\n${settings}`,
      body: '{{ issue.title }} {% for comment in issue.comments %}[{{ comment.author }}: {{ comment.body }}]{% endfor %}',
    });
  return { fake, open };
}

describe.each(Object.entries(FAKE_KINDS))('the whole loop on %s', (_, kind) => {
  test('an agent gets the reviewers’ comments and moves its issue; then its workspace is removed, and the issue that waited for it starts', async () => {
    const { fake, open } = await daemonOn(kind, agentCommand('moves-issue', kind.terminal));
    const word = { author: 'ann', isMember: true, body: 'Use the old parser.', createdAt: '2026-02-01T10:00:00.000Z' };
    const first = fake.add({ state: kind.active, title: 'First', comments: [word] });
    const second = fake.add({ state: kind.active, title: 'Second', blockedBy: [first.id] });

    const daemon = await open();
    const order: string[] = [];
    await daemon.until('both are done', (_state, event) => {
      if (event?.type === 'workspace_removed') order.push(event.issueId);
      return order.length === 2;
    });
    await daemon.stop();

    expect(order).toEqual([first.id, second.id]);
    expect([first, second].map(({ id }) => fake.board.get(id)?.state)).toEqual([kind.terminal, kind.terminal]);
    const prompt = await readFile(join(daemon.dir, `${first.identifier}.kept`), 'utf8');
    expect(prompt).toContain('Use the old parser.');
    expect(daemon.logLines.filter(({ msg }) => msg === 'run ended')).toEqual([
      expect.objectContaining({ issue_id: first.id, outcome: 'success' }),
      expect.objectContaining({ issue_id: second.id, outcome: 'success' }),
    ]);
  });

  test('closing an issue stops its run and removes its workspace', async () => {
    const { fake, open } = await daemonOn(kind, agentCommand('hangs'));
    const issue = fake.add({ state: kind.active });
    const daemon = await open();
    const isAtWork = (event: OrchestratorEvent | null) =>
      event?.type === 'run_signalled' && event.signal.type === 'session';
    await daemon.until('it is at work', (_state, event) => isAtWork(event));

    issue.state = kind.terminal;

    await daemon.until('its workspace is gone', (_state, event) => event?.type === 'workspace_removed');
    expect(daemon.logLines).toContainEqual(expect.objectContaining({ msg: 'run ended', outcome: 'cancelled' }));
  });
});
