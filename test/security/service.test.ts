import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
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
