import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { connect, createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { socketAddress } from '../../src/api/socket-address.js';

function folder(...names: string[]): string {
  const base = realpathSync(mkdtempSync(join(tmpdir(), 'baton-socket-')));
  onTestFinished(() => rmSync(base, { recursive: true, force: true }));
  const dir = join(base, ...names);
  mkdirSync(dir, { recursive: true });
  return dir;
}

async function listening(path: string): Promise<Server> {
  const server = createServer((socket) => socket.end('hello'));
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(path, resolve));
  onTestFinished(() => void server.close());
  return server;
}

function heardAt(path: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let heard = '';
    const socket = connect(path).setEncoding('utf8');
    socket.on('data', (chunk) => {
      heard += chunk;
    });
    socket.once('error', reject).once('end', () => resolve(heard));
  });
}

describe('the address of a socket', () => {
  test('is the file "socket" in the state directory', async () => {
    const dir = folder();

    const { path, close } = await socketAddress(dir);

    await close();
    expect(path).toBe(join(dir, 'socket'));
  });

  test.runIf(process.platform === 'linux')(
    'leads to the same file where its path is longer than an address can be, for who listens and for who connects',
    async () => {
      const dir = folder('x'.repeat(200), 'ä'.repeat(60));

      const [here, there] = await Promise.all([socketAddress(dir), socketAddress(dir)]);
      const server = await listening(here.path);

      expect(existsSync(join(dir, 'socket'))).toBe(true);
      expect(await heardAt(there.path)).toBe('hello');
      await new Promise((resolve) => server.close(resolve));
      expect(existsSync(join(dir, 'socket'))).toBe(false);
      await Promise.all([here.close(), there.close()]);
    },
  );

  test('counts bytes, not characters', async () => {
    const dir = folder('ä'.repeat(90 - tmpdir().length));

    const { path, close } = await socketAddress(dir);
    await listening(path);

    expect(await heardAt(path)).toBe('hello');
    await close();
  });

  test.runIf(process.platform === 'linux')(
    'of a folder that is not there cannot be had, and the reason says so',
    async () => {
      await expect(socketAddress(`/none/${'x'.repeat(120)}`)).rejects.toMatchObject({ code: 'ENOENT' });
    },
  );

  test('on a system without /proc a path that is too long is refused with what to do', async () => {
    const platform = vi.spyOn(process, 'platform', 'get').mockReturnValue('darwin');
    onTestFinished(() => platform.mockRestore());

    await expect(socketAddress(`/Users/${'x'.repeat(120)}`)).rejects.toMatchObject({
      code: 'store_failed',
      message: expect.stringMatching(/longer than 100 bytes.*--state-dir/),
    });
  });
});
