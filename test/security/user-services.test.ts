import { chmodSync, chownSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { hasNamespaces, Installation, USERS, type User } from '../support/installed-daemon.js';

let installation: Installation;

// Copying and removing an installation takes a while on a busy machine.
const SETUP_LIMIT_MS = 60_000;

beforeAll(() => {
  installation = new Installation();
}, SETUP_LIMIT_MS);

afterAll(() => installation.close(), SETUP_LIMIT_MS);

const NOBODY = 65534;

/** A folder of this user with a socket of a service, such as that of systemd. */
async function socketFolder(user: User, mode = 0o700) {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'baton-runtime-')));
  const socket = join(folder, 'private');
  const server = createServer((connection) => connection.end());
  await new Promise<void>((resolve) => server.listen(socket, resolve));
  onTestFinished(() => {
    server.close();
    rmSync(folder, { recursive: true, force: true });
  });
  chmodSync(folder, mode);
  for (const path of [folder, socket])
    if (process.geteuid?.() === 0 && user !== 'root') chownSync(path, NOBODY, NOBODY);
  return { folder, socket };
}

/** Whether an agent and a hook of a daemon of this user reach the socket. */
async function reached(user: User, socket: string, options: { env: { [name: string]: string }; settings?: string }) {
  const connect = (file: string) =>
    `perl -MIO::Socket::UNIX -e 'print IO::Socket::UNIX->new(shift) ? 1 : 0' ${socket} > ../../${file}`;
  const settings = `${options.settings ?? ''}
hooks: { before_run: "${connect('hook')}" }
codex: { command: "${connect('agent')}; exit 1" }`;
  const daemon = installation.start(user, { settings, issues: 1, env: options.env });
  onTestFinished(() => daemon.remove());
  await daemon.line(({ msg }) => msg === 'run failed' || msg === 'run ended');
  daemon.process.kill('SIGTERM');
  await daemon.exited;
  const read = (file: string) => readFileSync(join(daemon.dir, file), 'utf8') === '1';
  return { hook: read('hook'), agent: read('agent') };
}

const able = USERS.filter(hasNamespaces);
// A file without any test would fail, so there are skipped ones.
describe.runIf(able.length > 0).each(able.length > 0 ? able : USERS)('the services of %s', (user) => {
  const given: [string, (folder: string, socket: string) => { [name: string]: string }][] = [
    ['XDG_RUNTIME_DIR', (folder) => ({ XDG_RUNTIME_DIR: folder })],
    ['SSH_AUTH_SOCK', (_, socket) => ({ SSH_AUTH_SOCK: socket })],
  ];

  test.each(given)('are reached by hooks and not by agents: %s', async (_, env) => {
    const { folder, socket } = await socketFolder(user);

    expect(await reached(user, socket, { env: env(folder, socket) })).toEqual({ hook: true, agent: false });
  });

  test.each(given)('are reached by agents when the workflow passes %s', async (name, env) => {
    const { folder, socket } = await socketFolder(user);
    const settings = `runtime: { env_allow: [${name}] }`;

    expect(await reached(user, socket, { env: env(folder, socket), settings })).toEqual({ hook: true, agent: true });
  });

  test('stay visible in a folder that others can write, which cannot be hidden', async () => {
    const { folder, socket } = await socketFolder(user, 0o1777);

    expect(await reached(user, socket, { env: { XDG_RUNTIME_DIR: folder } })).toEqual({ hook: true, agent: true });
  });

  test('an ssh agent in a folder with other files stays visible, and so do the files', async () => {
    const { folder, socket } = await socketFolder(user);
    mkdirSync(join(folder, 'keys'));

    expect(await reached(user, socket, { env: { SSH_AUTH_SOCK: socket } })).toEqual({ hook: true, agent: true });
  });
});
