import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  closeSync,
  constants,
  existsSync,
  mkdtempSync,
  openSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { RotatingFile } from '../../src/logging/rotating-file.js';

let dir: string;
let opened: RotatingFile[];

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'baton-log-'));
  opened = [];
});
afterEach(() => {
  for (const file of opened) file.close();
  rmSync(dir, { recursive: true, force: true });
});

function rotating(options: { path?: string; maxBytes?: number; keep?: number } = {}): RotatingFile {
  const file = new RotatingFile({ path: join(dir, 'baton.log'), maxBytes: 100, keep: 2, ...options });
  opened.push(file);
  return file;
}

const contentOf = (name: string) => readFileSync(join(dir, name), 'utf8');
const lineOf = (letter: string) => `${letter.repeat(59)}\n`;

describe('a log file', () => {
  test('continues the file of an earlier process', () => {
    writeFileSync(join(dir, 'baton.log'), 'old\n');

    rotating().write('new\n');

    expect(contentOf('baton.log')).toBe('old\nnew\n');
  });

  test('is created with its directory, readable for its owner only', () => {
    const path = join(dir, 'a', 'b', 'baton.log');

    rotating({ path }).write('x\n');

    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(statSync(join(dir, 'a')).mode & 0o077).toBe(0);
  });

  test('is rotated before it exceeds its size, and keeps the configured number of old files', () => {
    const file = rotating();

    for (const letter of ['a', 'b', 'c', 'd']) file.write(lineOf(letter));

    expect(contentOf('baton.log')).toBe(lineOf('d'));
    expect(contentOf('baton.log.1')).toBe(lineOf('c'));
    expect(contentOf('baton.log.2')).toBe(lineOf('b'));
    expect(existsSync(join(dir, 'baton.log.3'))).toBe(false);
    expect(statSync(join(dir, 'baton.log')).mode & 0o777).toBe(0o600);
  });

  test('writes a line longer than the limit as a whole', () => {
    const file = rotating({ keep: 0 });

    file.write(`${'x'.repeat(500)}\n`);
    file.write('y\n');

    expect(contentOf('baton.log')).toBe('y\n');
  });

  test('is created again after it or its directory was deleted or moved', () => {
    const path = join(dir, 'logs', 'baton.log');
    const file = rotating({ path });

    file.write('1\n');
    rmSync(path);
    file.write('2\n');
    expect(readFileSync(path, 'utf8')).toBe('2\n');

    rmSync(join(dir, 'logs'), { recursive: true });
    file.write('3\n');
    expect(readFileSync(path, 'utf8')).toBe('3\n');

    renameSync(path, `${path}.moved`);
    file.write('4\n');
    expect(readFileSync(path, 'utf8')).toBe('4\n');
  });

  test('grows beyond the limit when it cannot be renamed', () => {
    const file = rotating({ keep: 1 });
    execFileSync('mkdir', ['-p', join(dir, 'baton.log.1', 'in-the-way')]);

    file.write(lineOf('a'));
    file.write(lineOf('b'));

    expect(contentOf('baton.log')).toBe(lineOf('a') + lineOf('b'));
  });

  test('throws while it cannot be opened', () => {
    writeFileSync(join(dir, 'wall'), '');
    const file = rotating({ path: join(dir, 'wall', 'baton.log') });

    expect(() => file.write('lost\n')).toThrow(/ENOTDIR|EEXIST/);
    rmSync(join(dir, 'wall'));
    file.write('kept\n');

    expect(contentOf('wall/baton.log')).toBe('kept\n');
  });

  test.skipIf(!existsSync('/dev/full'))('throws when the disk is full', () => {
    expect(() => rotating({ path: '/dev/full' }).write('x\n')).toThrow('ENOSPC');
  });
});

describe('a pipe in place of the log file', () => {
  let path: string;
  beforeEach(() => {
    path = join(dir, 'pipe');
    execFileSync('mkfifo', [path]);
    chmodSync(path, 0o600);
  });

  test('throws at once while it has no reader', () => {
    expect(() => rotating({ path }).write('x\n')).toThrow('ENXIO');
  });

  test('throws when its reader has closed it', () => {
    const reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const file = rotating({ path });

    file.write('x\n');
    closeSync(reader);

    expect(() => file.write('y\n')).toThrow('EPIPE');
  });

  test('blocks its writer only once, and briefly, when its reader does not read', () => {
    const reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const file = rotating({ path });
    const huge = `${'x'.repeat(1_000_000)}\n`;

    expect(() => file.write(huge)).toThrow('EAGAIN');
    // Were each of them to wait as the first one does, the time limit of the test would be over long before the last.
    for (let i = 0; i < 1_000; i++) expect(() => file.write('z\n')).toThrow('EAGAIN');
    const torn = available(reader);
    file.write('next\n');
    const after = available(reader);
    closeSync(reader);

    expect(torn).toMatch(/^x+$/);
    expect(after).toBe('\nnext\n');
  });
});

/** Reads the current content of the pipe. */
function available(fd: number): string {
  const buffer = Buffer.alloc(2_000_000);
  let length = 0;
  for (;;) {
    try {
      length += readSync(fd, buffer, length, buffer.length - length, null);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error;
      return buffer.toString('utf8', 0, length);
    }
  }
}
