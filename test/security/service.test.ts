import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { place } from '../cli/command.js';
import { forms } from '../runner/contain/workbench.js';
import { LAUNCHER, notifySocket, SENDER } from '../support/notify-socket.js';

const MAIN = fileURLToPath(new URL('../../dist/src/main.js', import.meta.url));

describe.each(forms)('a service with isolation: %s', (isolation) => {
  test('systemd gets the notices of the daemon only; an agent has no descriptor of it and is refused', async () => {
    const socket = await notifySocket();
    const here = place();
    const agent = `perl ${SENDER} ${socket.path} READY=1 STATUS=hijacked STOPPING=1; ls -l /proc/self/fd > ../../fds; exit 1`;
    here.workflow(`runtime: { isolation: ${isolation} }\nagent: { max_attempts: 1 }`);
    here.write('WORKFLOW.md', here.read('WORKFLOW.md').replace(/^codex: .*$/m, `codex: { command: "${agent}" }`));
    here.issue(1, 'x', 'y');
    const env = { PATH: process.env.PATH, HOME: join(here.dir, '../home'), TMPDIR: join(here.dir, '../tmp') };
    const systemd = { NOTIFY_SOCKET: socket.path, WATCHDOG_USEC: '120000000' };
    const args = [LAUNCHER, process.execPath, MAIN, 'run', '--allow-changes'];
    const daemon = spawn('perl', args, { cwd: here.dir, env: { ...env, ...systemd }, stdio: 'ignore' });
    const ended = new Promise((resolve) => daemon.once('exit', resolve));
    onTestFinished(() => void daemon.kill('SIGKILL'));

    const first = await socket.next();
    let other = await socket.next();
    while (other.pid === daemon.pid) other = await socket.next();
    await vi.waitFor(() => expect(existsSync(join(here.dir, 'fds'))).toBe(true), { timeout: 5_000 });
    daemon.kill('SIGTERM');
    let last = await socket.next();
    while (last.pid !== daemon.pid || !last.text.includes('STOPPING')) last = await socket.next();

    expect(first).toMatchObject({ pid: daemon.pid, text: expect.stringMatching(/^READY=1 \| WATCHDOG=1 \| STATUS=/) });
    // NotifyAccess=main: systemd drops notices of any other process.
    expect(other.text).toBe('READY=1 | STATUS=hijacked | STOPPING=1');
    expect(here.read('fds')).not.toMatch(/ [3-9] -> socket:/);
    expect(await ended).toBe(0);
  });
});

/** Another account listens on a port while the daemon is stopped. */
async function squattedPort(): Promise<number> {
  const squatter = createServer().listen(0, '127.0.0.1');
  onTestFinished(() => void squatter.close());
  await once(squatter, 'listening');
  return (squatter.address() as AddressInfo).port;
}

test('SEC-35 a service whose ports are taken starts, works over its socket, and stores no token for the page', async () => {
  const socket = await notifySocket();
  const here = place();
  const [port, webhooks] = [await squattedPort(), await squattedPort()];
  here.write(
    'WORKFLOW.md',
    `---
tracker: { kind: linear, provider: { endpoint: "http://127.0.0.1:1/graphql", project_slug: baton-0123456789ab } }
server: { port: ${port} }
webhooks: { port: ${webhooks}, secret: $HOOK_SECRET }
runtime: { isolation: none }
workspace: { root: ./workspaces, min_free_mb: 1 }
---
Go
`,
  );
  const env = { PATH: process.env.PATH, HOME: join(here.dir, '../home'), TMPDIR: join(here.dir, '../tmp') };
  const secrets = { LINEAR_API_KEY: 'lin_api_0123456789abcdef', HOOK_SECRET: 'lin_wh_0123456789abcdef' };
  const args = [LAUNCHER, process.execPath, MAIN, 'run', '--state-dir', 'state'];
  const daemon = spawn('perl', args, {
    cwd: here.dir,
    env: { ...env, ...secrets, NOTIFY_SOCKET: socket.path },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  onTestFinished(() => void daemon.kill('SIGKILL'));
  let log = '';
  daemon.stderr.on('data', (chunk) => {
    log += chunk;
  });

  const { text } = await socket.next();
  const status = await here.baton('status', '--state-dir', 'state');
  const opened = await here.baton('open', '--print', '--state-dir', 'state');
  daemon.kill('SIGTERM');
  const [code] = await once(daemon, 'exit');

  expect(text).toMatch(/^READY=1 /);
  expect(status).toMatchObject({ code: 0, stdout: expect.stringMatching(/Runs are not isolated/) });
  expect(opened).toMatchObject({ code: 1, stderr: expect.stringMatching(/another program has taken that port/) });
  expect(log).toMatch(/"level":"error".*port_in_use.*the port of the webhooks is taken/);
  expect(log).toMatch(/"level":"error".*port_in_use.*the port of the page is taken/);
  expect(existsSync(join(here.dir, 'state/http-token'))).toBe(false);
  expect(code).toBe(0);
});
