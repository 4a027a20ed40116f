import { existsSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { testDaemon } from '../support/test-daemon.js';

const CANARY = 'canary-19c4';

/** Real git, as hooks and agents use it. */
const USE_GIT = 'git init -q . && echo x > file && git add file && git diff --cached --stat --ext-diff';

test.each([
  ['an agent', (script: string) => `codex: { command: '${script}; exit 1' }`],
  ['a hook', (script: string) => `hooks: { before_run: '${script}; exit 1' }`],
])("SEC-12 SEC-29 the daemon's ways to services and programs of git do not reach %s", async (_, settings) => {
  const services = ['DOCKER_HOST', 'DBUS_SESSION_BUS_ADDRESS', 'XDG_RUNTIME_DIR', 'GIT_ASKPASS', 'GIT_SSH_COMMAND'];
  const env: { [name: string]: string } = Object.fromEntries(services.map((name) => [name, CANARY]));
  const daemon = await testDaemon({
    settings: settings(`env > ../../environment; ${USE_GIT} && touch ../../done`),
    env,
    async before(dir) {
      const trap = join(dir, 'trap');
      await writeFile(trap, `#!/bin/sh\ntouch ${dir}/pwned\n`, { mode: 0o755 });
      const hooks = join(dir, 'git-hooks');
      await mkdir(hooks);
      await writeFile(join(hooks, 'post-index-change'), `#!/bin/sh\ntouch ${dir}/pwned\n`, { mode: 0o755 });
      Object.assign(env, { GIT_EXTERNAL_DIFF: trap, GIT_CONFIG_COUNT: '1' });
      Object.assign(env, { GIT_CONFIG_KEY_0: 'core.hooksPath', GIT_CONFIG_VALUE_0: hooks });
    },
  });
  daemon.tracker.put({ id: '1', identifier: 'AB-1' });

  await daemon.until('a run', (state, event) => event?.type === 'run_exited' && state.records['1']?.runs === 1);

  expect(existsSync(join(daemon.dir, 'done'))).toBe(true);
  expect(existsSync(join(daemon.dir, 'pwned'))).toBe(false);
  expect(await readFile(join(daemon.dir, 'environment'), 'utf8')).not.toContain(CANARY);
});
