import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { forms } from '../runner/contain/workbench.js';
import { type TestDaemon, testDaemon } from '../support/test-daemon.js';

const CANARY = 'canary-7f3a';

const read = (daemon: TestDaemon, name: string) => readFile(join(daemon.dir, name), 'utf8');

const firstRun = async (daemon: TestDaemon) => {
  daemon.tracker.put({ id: '1', identifier: 'AB-1' });
  await daemon.until('a run', (state, event) => event?.type === 'run_exited' && state.records['1']?.runs === 1);
};

describe.runIf(forms.includes('pidns'))('what runs cannot see', () => {
  test("SEC-29 SEC-34 hooks see Baton's folder beside the workspaces, agents do not", async () => {
    const look = (file: string) => `cat ../.baton/canary > ../../${file}; ls -A ../.baton >> ../../${file}`;
    const daemon = await testDaemon({
      settings: `hooks: { after_create: 'echo ${CANARY} > ../.baton/canary', before_run: '${look('hook')}' }
codex: { command: "${look('agent')}; exit 1" }`,
    });

    await firstRun(daemon);

    expect(await read(daemon, 'hook')).toContain(CANARY);
    expect(await read(daemon, 'agent')).toBe('');
  });
});
