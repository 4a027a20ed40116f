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
import { openHttpToken } from '../../src/api/access.js';

const OLD = 'o'.repeat(43);

function stateDir(): string {
  const dir = mkdtempSync(join(tmpdir(), 'baton-token-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

describe('the token', () => {
  test('is 32 random bytes in a file for its user only, and stays the same', async () => {
    const dir = stateDir();

    const first = await openHttpToken(dir);
    const again = await openHttpToken(dir);

    expect(Buffer.from(first, 'base64url')).toHaveLength(32);
    expect(again).toBe(first);
    expect(readFileSync(join(dir, 'http-token'), 'utf8')).toBe(`${first}\n`);
    expect(lstatSync(join(dir, 'http-token')).mode & 0o777).toBe(0o600);
    expect(readdirSync(dir)).toEqual(['http-token']);
    expect(await openHttpToken(stateDir())).not.toBe(first);
  });

  test.each([0o644, 0o640, 0o620, 0o602])(
    'in a file of mode %o is worth nothing any more and replaced',
    async (mode) => {
      const dir = stateDir();
      writeFileSync(join(dir, 'http-token'), OLD);
      chmodSync(join(dir, 'http-token'), mode);
      const told: string[] = [];

      const token = await openHttpToken(dir, (why) => told.push(why));

      expect(token).not.toBe(OLD);
      expect(told).toEqual([expect.stringMatching(/http-token is open to other users$/)]);
      expect(lstatSync(join(dir, 'http-token')).mode & 0o777).toBe(0o600);
      expect(await openHttpToken(dir)).toBe(token);
    },
  );

  test('behind a link is not read, and what the link leads to is not touched', async () => {
    const dir = stateDir();
    const elsewhere = join(stateDir(), 'theirs');
    writeFileSync(elsewhere, OLD, { mode: 0o600 });
    symlinkSync(elsewhere, join(dir, 'http-token'));
    const told: string[] = [];

    const token = await openHttpToken(dir, (why) => told.push(why));

    expect(token).not.toBe(OLD);
    expect(told).toEqual([expect.stringMatching(/is a symbolic link$/)]);
    expect(lstatSync(join(dir, 'http-token')).isFile()).toBe(true);
    expect(readFileSync(elsewhere, 'utf8')).toBe(OLD);
  });

  test.each(['', 'short', `${OLD}x`, 'x'.repeat(100_000), '!'.repeat(43)])(
    '%# that is none is replaced',
    async (text) => {
      const dir = stateDir();
      writeFileSync(join(dir, 'http-token'), text, { mode: 0o600 });

      const token = await openHttpToken(dir);

      expect(token).toMatch(/^[\w-]{43}$/);
      expect(await openHttpToken(dir)).toBe(token);
    },
  );

  test('is made although a killed daemon left half of one', async () => {
    const dir = stateDir();
    writeFileSync(join(dir, 'http-token.new'), 'ab', { mode: 0o644 });

    await openHttpToken(dir);

    expect(readdirSync(dir)).toEqual(['http-token']);
    expect(lstatSync(join(dir, 'http-token')).mode & 0o777).toBe(0o600);
  });

  test('that cannot be stored is reported with its path', async () => {
    const dir = stateDir();
    mkdirSync(join(dir, 'http-token'));

    await expect(openHttpToken(dir)).rejects.toMatchObject({
      code: 'store_failed',
      message: expect.stringMatching(/cannot store the token .*http-token: .*--state-dir/),
    });
  });
});
