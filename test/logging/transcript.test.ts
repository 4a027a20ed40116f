import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createRedactor } from '../../src/logging/redact.js';
import { openTranscript, pruneTranscripts } from '../../src/logging/transcript.js';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'baton-transcripts-'));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const redactor = createRedactor(['canary-token-value']);

interface Line {
  readonly time: string;
  readonly kind: string;
  readonly data: unknown;
}
function linesOf(path: string): Line[] {
  const text = readFileSync(path, 'utf8');
  expect(text.endsWith('\n')).toBe(true);
  return text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Line);
}

describe('a transcript', () => {
  test('has every line in order, in a file that only its owner can read', async () => {
    const transcript = openTranscript(join(dir, 'state', 'transcripts'), 'run-1', { redactor });

    for (let i = 0; i < 5_000; i++) transcript.write('event', { i });
    await transcript.close();

    expect(linesOf(transcript.path).map(({ data }) => data)).toEqual(Array.from({ length: 5_000 }, (_, i) => ({ i })));
    expect(linesOf(transcript.path)[0]).toMatchObject({ kind: 'event', time: expect.stringMatching(/Z$/) });
    expect(statSync(transcript.path).mode & 0o777).toBe(0o600);
    expect(statSync(join(dir, 'state')).mode & 0o077).toBe(0);
  });

  test('is on disk before it is closed', async () => {
    const transcript = openTranscript(dir, 'run-1', { redactor });

    transcript.write('event', 'x'.repeat(100_000));
    await expect
      .poll(() => readdirSync(dir).length > 0 && readFileSync(transcript.path, 'utf8').length)
      .toBeGreaterThan(100_000);

    await transcript.close();
  });

  test('SEC-20 SEC-17 contains no secret and no control character', async () => {
    const transcript = openTranscript(dir, 'run-1', { redactor });

    transcript.write('stderr', 'token canary-token-value \u001b[2J\u202e\u009b');
    transcript.write('event', {
      nested: JSON.stringify({ auth: Buffer.from('u:canary-token-value').toString('base64') }),
    });
    await transcript.close();

    const text = readFileSync(transcript.path, 'utf8');
    expect(text).not.toMatch(/canary|Y2FuYXJ5/);
    expect(text.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\u202e]/u);
  });

  test('is cut at its size, with the number of missing lines', async () => {
    const transcript = openTranscript(dir, 'run-1', { redactor, maxBytes: 2_000 });

    for (let i = 0; i < 100; i++) transcript.write('event', `${i} ${'x'.repeat(100)}`);
    await transcript.close();

    const lines = linesOf(transcript.path);
    expect(statSync(transcript.path).size).toBeLessThanOrEqual(2_000);
    expect(lines.at(-2)).toMatchObject({ kind: 'cut', data: { max_bytes: 2_000 } });
    expect(lines.at(-1)).toMatchObject({ kind: 'cut', data: { lines: 100 - (lines.length - 2) } });
  });

  test('drops lines instead of filling the memory when an agent is faster than the disk', async () => {
    const transcript = openTranscript(dir, 'run-1', { redactor });
    const block = 'x'.repeat(1_000_000);

    for (let i = 0; i < 40; i++) transcript.write('event', block);
    await expect.poll(() => readdirSync(dir).length > 0 && statSync(transcript.path).size).toBeGreaterThan(8_000_000);
    transcript.write('event', 'after');
    await transcript.close();

    const kinds = linesOf(transcript.path).map(({ kind }) => kind);
    expect(kinds).toContain('gap');
    expect(kinds.length).toBeLessThan(20);
  });

  test('accepts a line of 10 MB', async () => {
    const transcript = openTranscript(dir, 'run-1', { redactor });

    transcript.write('event', 'x'.repeat(10_000_000));
    await transcript.close();

    expect(linesOf(transcript.path).map(({ kind }) => kind)).toEqual(['event']);
  });

  test('accepts data that is not JSON', async () => {
    const transcript = openTranscript(dir, 'run-1', { redactor });
    const circular: { self?: unknown } = {};
    circular.self = circular;
    let deep: unknown = null;
    for (let i = 0; i < 100_000; i++) deep = [deep];

    for (const data of [circular, 1n, deep, undefined]) transcript.write('event', data);
    await transcript.close();

    expect(linesOf(transcript.path)).toHaveLength(4);
    expect(linesOf(transcript.path)[0]?.data).toMatch(/not writable as JSON/);
  });

  test('that cannot be written reports one error and never throws', async () => {
    const errors: Error[] = [];
    writeFileSync(join(dir, 'wall'), '');
    const transcript = openTranscript(join(dir, 'wall'), 'run-1', { redactor, onError: (error) => errors.push(error) });

    for (let i = 0; i < 10; i++) transcript.write('event', 'x'.repeat(70_000));
    await transcript.close();
    transcript.write('event', 'late');
    await transcript.close();

    expect(errors).toHaveLength(1);
  });

  test('does not follow a symlink in place of its file', async () => {
    const errors: Error[] = [];
    writeFileSync(join(dir, 'precious'), 'mine');
    symlinkSync(join(dir, 'precious'), join(dir, 'run-1.jsonl'));

    const transcript = openTranscript(dir, 'run-1', { redactor, onError: (error) => errors.push(error) });
    transcript.write('event', 'x');
    await transcript.close();

    expect(errors).toHaveLength(1);
    expect(readFileSync(join(dir, 'precious'), 'utf8')).toBe('mine');
  });

  test('stays in its directory for any run id', async () => {
    const transcript = openTranscript(join(dir, 'in'), '../../x/..', { redactor });
    transcript.write('event', 1);
    await transcript.close();

    expect(readdirSync(dir)).toEqual(['in']);
    expect(readdirSync(join(dir, 'in'))).toHaveLength(1);
  });
});

describe('pruning transcripts', () => {
  function file(name: string, ageMs: number): void {
    writeFileSync(join(dir, name), '');
    const time = (Date.now() - ageMs) / 1_000;
    utimesSync(join(dir, name), time, time);
  }

  test('keeps the newest, those of live runs, and all other files', async () => {
    for (const age of [1, 2, 3, 4, 5]) file(`r${age}.jsonl`, age * 1_000);
    file('notes.txt', 99_000);
    mkdirSync(join(dir, 'folder.jsonl'));

    const result = await pruneTranscripts(dir, { keep: 2, liveRunIds: ['r5'] });

    expect(result).toEqual({ removed: ['r3.jsonl', 'r4.jsonl'], failed: [] });
    expect(readdirSync(dir).sort()).toEqual(['folder.jsonl', 'notes.txt', 'r1.jsonl', 'r2.jsonl', 'r5.jsonl']);
  });

  test('removes transcripts that are too old, even when there are few', async () => {
    file('old.jsonl', 60_000);
    file('new.jsonl', 0);

    expect((await pruneTranscripts(dir, { keep: 10, maxAgeMs: 30_000 })).removed).toEqual(['old.jsonl']);
  });

  test('accepts a missing directory', async () => {
    expect(await pruneTranscripts(join(dir, 'none'), { keep: 1 })).toEqual({ removed: [], failed: [] });
  });

  test('an agent cannot push out the lines of people and Baton', async () => {
    const transcript = openTranscript(dir, 'run-1', { redactor, maxBytes: 100_000 });
    const flood = () => {
      for (let n = 0; n < 500; n++)
        transcript.write('notification', { method: 'item/completed', n, text: 'x'.repeat(500) });
    };

    flood();
    transcript.write('asked', { text: 'May I?' });
    flood();
    transcript.write('answered', { text: 'yes' });
    transcript.write('run_ended', { state: 'success' });
    await transcript.close();

    const kinds = linesOf(transcript.path).map(({ kind }) => kind);
    expect(kinds.filter((kind) => kind !== 'notification')).toEqual(['cut', 'asked', 'answered', 'run_ended', 'cut']);
    expect(statSync(transcript.path).size).toBeLessThanOrEqual(100_000);
  });

  test('has some diffs and always the last one of a turn, not one for every edit', async () => {
    const transcript = openTranscript(dir, 'run-1', { redactor });
    const diff = (text: string) =>
      transcript.write('notification', { method: 'turn/diff/updated', data: { diff: text } });

    for (const text of ['1', '2', '3']) diff(text);
    transcript.write('turn_completed', {});
    for (const text of ['4', '5']) diff(text);
    await transcript.close();

    const kinds = linesOf(transcript.path).map(
      ({ kind, data }) => (data as { data?: { diff?: string } }).data?.diff ?? kind,
    );
    expect(kinds).toEqual(['1', '3', 'turn_completed', '5']);
  });
});
