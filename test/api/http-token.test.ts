import {
  chmodSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createHttpToken, storeHttpToken } from '../../src/api/access.js';

const OLD = 'o'.repeat(43);

function stateDir(): string {
  const dir = mkdtempSync(join(tmpdir(), 'baton-token-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

async function storedToken(dir: string): Promise<string> {
  const token = createHttpToken();
  await storeHttpToken(dir, token);
  return token;
}

describe('the token', () => {
  test('SEC-35 is 32 new random bytes at each start, in a file for its user only', async () => {
    const dir = stateDir();

    const first = await storedToken(dir);
    const second = await storedToken(dir);

    expect(Buffer.from(first, 'base64url')).toHaveLength(32);
    expect(second).toMatch(/^[\w-]{43}$/);
    expect(second).not.toBe(first);
    expect(readFileSync(join(dir, 'http-token'), 'utf8')).toBe(`${second}\n`);
    expect(lstatSync(join(dir, 'http-token')).mode & 0o777).toBe(0o600);
    expect(readdirSync(dir)).toEqual(['http-token']);
  });

  test('replaces a file that other users can read', async () => {
    const dir = stateDir();
    writeFileSync(join(dir, 'http-token'), OLD);
    chmodSync(join(dir, 'http-token'), 0o666);

    const token = await storedToken(dir);

    expect(token).not.toBe(OLD);
    expect(lstatSync(join(dir, 'http-token')).mode & 0o777).toBe(0o600);
  });

  test('replaces a link, and does not touch its target', async () => {
    const dir = stateDir();
    const elsewhere = join(stateDir(), 'theirs');
    writeFileSync(elsewhere, OLD, { mode: 0o600 });
    symlinkSync(elsewhere, join(dir, 'http-token'));

    await storedToken(dir);

    expect(lstatSync(join(dir, 'http-token')).isFile()).toBe(true);
    expect(readFileSync(elsewhere, 'utf8')).toBe(OLD);
  });

  test('is made although a killed daemon left half of one', async () => {
    const dir = stateDir();
    writeFileSync(join(dir, 'http-token.new'), 'ab', { mode: 0o644 });

    await storedToken(dir);

    expect(readdirSync(dir)).toEqual(['http-token']);
    expect(lstatSync(join(dir, 'http-token')).mode & 0o777).toBe(0o600);
  });

  test('that cannot be stored is reported with its path', async () => {
    const dir = stateDir();
    mkdirSync(join(dir, 'http-token'));

    await expect(storedToken(dir)).rejects.toMatchObject({
      code: 'store_failed',
      message: expect.stringMatching(/cannot store the token .*http-token: .*--state-dir/),
    });
  });
});
