import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { LAUNCHER, notifySocket } from '../../support/notify-socket.js';

const PATH = process.env.PATH ?? '';

/** What a program of the launcher writes, and its pid. */
const launch = (env: NodeJS.ProcessEnv, ...program: string[]) =>
  spawnSync('perl', [LAUNCHER, ...program], { env: { PATH, ...env }, encoding: 'utf8' });

const NOTIFY = 'require("node:fs").writeSync(Number(process.env.BATON_NOTIFY_FD), "READY=1\\nSTATUS=x")';

test.each([false, true])(
  'the program notifies systemd as the started process (abstract socket: %s)',
  async (isAbstract) => {
    const socket = await notifySocket({ isAbstract });

    const { pid, status, stderr } = launch({ NOTIFY_SOCKET: socket.path }, process.execPath, '-e', NOTIFY);

    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(await socket.next()).toEqual({ pid, text: 'READY=1 | STATUS=x' });
  },
);

test('children of Node do not inherit the socket', async () => {
  const socket = await notifySocket();
  const list = 'ls -l /proc/self/fd';
  const script = `console.log(require("node:child_process").execSync("${list}", { encoding: "utf8" }))`;

  const bash = launch({ NOTIFY_SOCKET: socket.path }, 'bash', '-c', list);
  const node = launch({ NOTIFY_SOCKET: socket.path }, process.execPath, '-e', script);

  expect(bash.stdout).toMatch(/ [3-9] -> socket:/);
  expect(node).toMatchObject({ status: 0, stdout: expect.not.stringMatching(/ [3-9] -> socket:/) });
});

test('without a socket the program runs without a descriptor, and keeps its arguments and exit code', () => {
  const { stdout, status } = launch(
    { BATON_NOTIFY_FD: '7' },
    'bash',
    '-c',
    'echo "$1,$BATON_NOTIFY_FD"; exit 2',
    '_',
    'a b',
  );

  expect({ stdout, status }).toEqual({ stdout: 'a b,\n', status: 2 });
});

test.each([
  [{ NOTIFY_SOCKET: '/nonexistent' }, 'true', /cannot connect to \/nonexistent/],
  [{}, '/nonexistent', /cannot start \/nonexistent/],
])('a start that systemd can repeat does not exit with 2: %j %s', (env, program, message) => {
  expect(launch(env, program)).toMatchObject({ status: 1, stderr: expect.stringMatching(message) });
});

test('the test would notice another process as the sender', async () => {
  const socket = await notifySocket();

  const { pid } = launch(
    { NOTIFY_SOCKET: socket.path },
    'bash',
    '-c',
    `(exec ${process.execPath} -e '${NOTIFY}'); true`,
  );

  expect((await socket.next()).pid).not.toBe(pid);
});
