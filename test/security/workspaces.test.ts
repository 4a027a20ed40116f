import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { distinctName } from '../../runner/workspace/workspace-path.js';
import { forms } from '../runner/contain/workbench.js';
import { MemoryTracker } from '../support/memory-tracker.js';
import { type TestDaemon, type TestDaemonOptions, testDaemon } from '../support/test-daemon.js';

const CANARY = 'canary-51be';

/** A daemon whose agent is a shell command that fails at its end, after one run of each issue. */
const attack = (agent: string, options: TestDaemonOptions & { readonly hooks?: string } = {}) =>
  testDaemon({
    ...options,
    settings: `hooks: { ${options.hooks ?? ''} }
agent: { max_attempts: 1, max_concurrent_agents: 1 }
codex: { command: ${JSON.stringify(`${agent}; exit 1`)} }`,
  });

async function oneRunOf(daemon: TestDaemon, id: string, identifier = id): Promise<void> {
  daemon.tracker.put({ id, identifier });
  daemon.dispatch({ type: 'refresh_requested' });
  await daemon.until(`a run of ${identifier}`, (state) => state.claims[id]?.status.kind === 'parked');
}

const owners = async (root: string) =>
  Promise.all(
    (await readdir(join(root, '.baton/owners'))).sort().map(async (name) => {
      const { issueId } = JSON.parse(await readFile(join(root, '.baton/owners', name), 'utf8'));
      return `${name} ${issueId}`;
    }),
  );

test('SEC-2 after the loss of the store, an issue that spells the folder name of another does not get its work', async () => {
  const victim = await attack(`echo ${CANARY} > work`);
  await oneRunOf(victim, 'victim', 'A/B');
  await victim.stop();
  const folders = (await readdir(victim.workspaces)).filter((name) => name !== '.baton');

  // The second daemon has a new, empty store.
  const thief = await attack('cat work >> ../../stolen; pwd >> ../../stolen', {
    before: (dir) => rename(victim.workspaces, join(dir, 'workspaces')),
  });
  for (const name of [...folders, distinctName('A/B')]) await oneRunOf(thief, `thief of ${name}`, name);

  const stolen = await readFile(join(thief.dir, 'stolen'), 'utf8');
  expect(stolen).not.toContain(CANARY);
  expect(stolen).toContain(thief.workspaces);
});

test.runIf(forms.includes('pidns'))('SEC-2 SEC-34 an agent cannot forge the owner of a folder', async () => {
  const forged = JSON.stringify({ scope: new MemoryTracker().scope, issueId: 'thief', identifier: 'thief' });
  const daemon = await attack(
    `mkdir -p ../.baton/owners; echo '${forged}' | tee ../.baton/owners/next.json > ../.baton/owners/thief.json; rm -f ../.baton/owners/victim.json`,
  );

  await oneRunOf(daemon, 'victim');
  await oneRunOf(daemon, 'thief');

  expect(await owners(daemon.workspaces)).toEqual(['thief.json thief', 'victim.json victim']);
});

test('SEC-4 nothing runs in a folder that was put in the place of a workspace', async () => {
  const daemon = await attack('touch ../../reached', {
    hooks: `before_run: 'mv ../AB-1 ../aside && mkdir ../AB-1', after_run: 'touch ../../reached'`,
    before: async (dir) => void (await mkdir(join(dir, 'workspaces'))),
  });

  await oneRunOf(daemon, 'AB-1');

  expect(daemon.logLines.map(({ code }) => code)).toContain('workspace_changed');
  expect(existsSync(join(daemon.dir, 'reached'))).toBe(false);
});
