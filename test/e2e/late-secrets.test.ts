import { readFile, writeFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { writtenBy } from '../support/leaks.js';
import { agentCommand, testDaemon } from '../support/test-daemon.js';

test('SEC-20 a variable that an edit makes a secret is masked from then on, even when a hook prints it', async () => {
  const daemon = await testDaemon({
    allowChanges: true,
    env: { LATE: 'canary-late-secret' },
    settings: `server: { port: 0 }
hooks: { before_run: 'echo "it is $LATE"; exit 1', env_allow: [LATE] }
codex: { command: ${JSON.stringify(agentCommand('obedient'))} }`,
  });
  const text = await readFile(daemon.workflowPath, 'utf8');
  await writeFile(daemon.workflowPath, text.replace('provider: {}', 'provider: { token: $LATE }'));
  const openings = () => daemon.logLines.filter(({ msg }) => msg === 'serving status over HTTP').length;
  await expect.poll(openings, { timeout: 10_000 }).toBe(2);

  daemon.tracker.put({ id: 'A' });
  await daemon.until('its hook has failed', (_state, event) => event?.type === 'run_exited');
  const written = await writtenBy(daemon, 'A');

  expect([...written.values()].join()).toContain('it is ***');
  expect([...written].filter(([, said]) => said.includes('canary-late-secret'))).toEqual([]);
});
