import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { findOpener, openInBrowser } from '../../src/cli/open.js';
import { demoWorkflow, liveDaemon } from './client/live-daemon.js';
import { place } from './command.js';

function folder(): string {
  const dir = mkdtempSync(join(tmpdir(), 'baton-open-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

function program(dir: string, name: string, script: string): string {
  mkdirSync(dir, { recursive: true });
  writeFileSync(join(dir, name), `#!/bin/bash\n${script}\n`);
  chmodSync(join(dir, name), 0o755);
  return join(dir, name);
}

describe('the program that opens a URL', () => {
  const bin = () => {
    const dir = folder();
    for (const name of ['xdg-open', 'open']) program(dir, name, '');
    return dir;
  };

  test('is found in a desktop session', async () => {
    const dir = bin();
    const env = { PATH: `relative:/none:${dir}` };
    const desk = { platform: 'linux', isRoot: false } as const;

    expect(await findOpener({ ...desk, env: { ...env, DISPLAY: ':0' } })).toBe(join(dir, 'xdg-open'));
    expect(await findOpener({ ...desk, env: { ...env, WAYLAND_DISPLAY: 'wayland-0' } })).toBe(join(dir, 'xdg-open'));
    expect(await findOpener({ ...desk, platform: 'darwin', env })).toBe(join(dir, 'open'));
  });

  test('is not searched without a desktop', async () => {
    const env = { PATH: bin(), DISPLAY: ':0' };

    expect(await findOpener({ platform: 'linux', isRoot: true, env })).toBeNull();
    expect(await findOpener({ platform: 'linux', isRoot: false, env: { PATH: env.PATH, DISPLAY: '' } })).toBeNull();
    expect(await findOpener({ platform: 'linux', isRoot: false, env: { PATH: '/none', DISPLAY: ':0' } })).toBeNull();
    expect(await findOpener({ platform: 'darwin', isRoot: false, env: { ...env, SSH_CONNECTION: 'x' } })).toBeNull();
  });
});

describe('a browser', () => {
  const FILE = '/state/open.html';

  test('gets the file', async () => {
    const dir = folder();
    const opener = program(dir, 'xdg-open', `printf '%s' "$*" >${dir}/args`);

    expect(await openInBrowser(opener, FILE, { env: { PATH: process.env.PATH } })).toBeNull();

    expect(readFileSync(join(dir, 'args'), 'utf8')).toBe(FILE);
  });

  test('that the program becomes survives the command', async () => {
    const dir = folder();
    const opener = program(dir, 'xdg-open', `echo $$ >${dir}/pid; exec sleep 1000`);

    expect(await openInBrowser(opener, FILE, { env: { PATH: process.env.PATH } })).toBeNull();

    const pid = Number(readFileSync(join(dir, 'pid'), 'utf8'));
    onTestFinished(() => void process.kill(pid, 'SIGKILL'));
    // One that has ended may still be listed, as a zombie.
    expect(execFileSync('ps', ['-o', 'stat=', '-p', String(pid)], { encoding: 'utf8' })).toMatch(/^[^Z]/);
  });

  test('that cannot be started is reported', async () => {
    const opener = program(folder(), 'xdg-open', 'exit 3');

    expect(await openInBrowser(opener, FILE, { env: { PATH: process.env.PATH } })).toBe('it ended with 3');
    expect(await openInBrowser('/none/xdg-open', FILE, { env: { PATH: process.env.PATH } })).toBe('it ended with 127');
  });
});

describe('baton open', () => {
  test('prints a URL whose token lets it change things', async () => {
    const here = place();
    demoWorkflow(here);
    here.issue(1, 'Done already', 'x', 'status: Done');
    await liveDaemon(here, '--port', '0');

    const { code, stdout, stderr } = await here.baton('open', '--print');

    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const [, url, token] = /^(http:\/\/127\.0\.0\.1:\d+)\/#token=([\w%-]{16,})\n$/.exec(stdout) ?? [];
    const refresh = (authorization: string) =>
      fetch(`${url}/api/v1/refresh`, { method: 'POST', headers: { authorization } }).then(({ status }) => status);
    expect(await refresh(`Bearer ${token}`)).toBe(202);
    expect(await refresh('Bearer another')).toBeGreaterThanOrEqual(401);
  });

  test('opens nothing without a terminal', async () => {
    const here = place();
    demoWorkflow(here);
    here.issue(1, 'Done already', 'x', 'status: Done');
    here.write('bin/xdg-open', '#!/bin/sh\ntouch "$(dirname "$0")/opened"\n');
    await liveDaemon(here, '--port', '0');

    const { code } = await here.with({ DISPLAY: ':0', PATH: `${here.dir}/bin:${process.env.PATH}` }, 'open');

    expect(code).toBe(0);
    expect(() => here.read('bin/opened')).toThrow();
  });

  test('explains how to get a port when the daemon has none; exit 1', async () => {
    const here = place();
    demoWorkflow(here);
    await liveDaemon(here);

    expect(await here.baton('open')).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(/it has no port\. Start it with --port 4711, or set server\.port/),
    });
  });

  test('without a daemon exits with 2', async () => {
    const here = place();
    demoWorkflow(here);

    expect(await here.baton('open')).toMatchObject({
      code: 2,
      stdout: '',
      stderr: expect.stringContaining('daemon_not_running'),
    });
  });
});
