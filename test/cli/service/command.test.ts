import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { place, processesIn } from '../command.js';

/** The built command with programs in place of those of systemd, first on the PATH. */
function project() {
  const here = place();
  here.workflow();
  const bin = join(here.dir, '../bin');
  mkdirSync(bin);
  const program = (name: string, script: string) => {
    writeFileSync(join(bin, name), `#!/bin/bash\n${script}\n`);
    chmodSync(join(bin, name), 0o755);
  };
  program('systemctl', 'case "$*" in *is-system-running) echo running ;; *is-active*) echo inactive ;; esac');
  program('loginctl', 'echo yes');
  // Named after the folder, so that it is found when it is left behind.
  const follow = `if [[ $* == *--follow ]]; then exec -a '${here.dir}' sleep 1000; fi`;
  program('journalctl', `echo '{"level":"info","msg":"hello"}'; ${follow}`);
  const env = { PATH: `${bin}:${process.env.PATH}` };
  const unit = join(here.dir, '../home/.config/systemd/user/baton-project.service');
  return { ...here, program, env, unit };
}

test('install, status, logs and uninstall, as a person calls them', async () => {
  const here = project();
  const call = (...args: string[]) => here.with(here.env, 'service', ...args);

  const installed = await call('install');
  const unit = readFileSync(here.unit, 'utf8');
  const [status, logs, removed] = [await call('status'), await call('logs'), await call('uninstall')];

  expect(installed).toMatchObject({ code: 0, stderr: '' });
  expect(unit).toMatch(/^ExecStart="[^"]*\/perl" "[^"]*launch\.pl" "[^"]*node" "/m);
  expect(unit).toMatch(/main\.js" "run" "[^"]*project\/WORKFLOW\.md"\n/);
  expect(status).toMatchObject({ code: 1, stdout: expect.stringContaining('project: ') });
  expect(logs).toMatchObject({ code: 0, stdout: '{"level":"info","msg":"hello"}\n' });
  expect(removed.code).toBe(0);
  expect(existsSync(here.unit)).toBe(false);
});

test.each(['SIGINT', 'SIGTERM'] as const)('logs -f runs until %s, and leaves no process behind', async (signal) => {
  const here = project();
  await here.with(here.env, 'service', 'install');
  const { child, ended } = here.startWith(here.env, 'service', 'logs', '-f');
  await new Promise<void>((resolve) =>
    child.stdout?.on('data', (chunk) => String(chunk).includes('hello') && resolve()),
  );

  child.kill(signal);

  expect(await ended).toMatchObject({ code: 0, stderr: '' });
  expect(processesIn(here.dir)).toEqual([]);
});

test.each([
  [['service'], 2, /Usage: baton service/],
  [['service', 'install', '--name', 'a/b'], 2, /must consist of letters/],
  [['service', 'install', '--port', 'x'], 2, /from 0 to 65535/],
  [['service', 'install', '--run-as', 'me'], 2, /--run-as requires --system/],
  [['service', 'install', 'nope.md'], 2, /missing_workflow_file/],
  [['service', 'logs', '-n', 'x'], 2, /must be a number/],
  [['service', 'logs', '--name', 'nope'], 1, /service_failed: there is no service nope/],
  [['service', 'uninstall'], 1, /service_failed: there is no service for WORKFLOW\.md/],
])('baton %j ends with %i', async (args, code, message) => {
  const here = project();

  const result = await here.with(here.env, ...args);

  expect({ code: result.code, text: result.stderr }).toEqual({ code, text: expect.stringMatching(message) });
});

test('without systemd it exits 1 with the remedy; --dry-run still works', async () => {
  const here = project();
  here.program('systemctl', 'echo offline; exit 1');

  const real = await here.with(here.env, 'service', 'install');
  const dry = await here.with(here.env, 'service', 'install', '--dry-run');

  expect(real).toMatchObject({ code: 1, stdout: '', stderr: expect.stringMatching(/not started by systemd.*tmux/s) });
  expect(dry).toMatchObject({ code: 0, stdout: expect.stringContaining('Type=notify') });
});
