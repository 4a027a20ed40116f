import { PassThrough } from 'node:stream';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { captureOutput, drain, HeadAndTail } from '../../../runner/contain/capture-output.js';
import { FakeClock } from '../../support/fake-clock.js';
import { Bench, childScript, forms, realClock } from './workbench.js';

let bench: Bench;

beforeEach(() => {
  bench = new Bench();
});

afterEach(() => bench.close());

describe.each(forms.slice(0, 1))('with isolation %s', (isolation) => {
  test('SEC-13 a command that prints 1 GB leaves memory flat, and its head and tail are kept', async () => {
    const script = 'echo first; dd if=/dev/zero bs=1000000 count=1000 status=none; echo last; echo short >&2';
    const child = await bench.spawn(await bench.containment(isolation), script, { stdin: 'ignore' });
    const before = process.memoryUsage.rss();

    const captured = await captureOutput(child, { maxBytes: 10_000, clock: realClock, drainMs: 1_000 });

    expect(process.memoryUsage.rss() - before).toBeLessThan(200_000_000);
    expect(captured).toMatchObject({ truncated: true, stderr: 'short\n', status: { code: 0 } });
    expect(captured.stdout).toMatch(/^first\n/);
    expect(captured.stdout).toMatch(/\[… 999990011 bytes left out …\]/);
    expect(captured.stdout).toMatch(/last\n$/);
    expect(captured.stdout.length).toBeLessThan(10_100);
  });
});

test('SEC-13 a process left holding stdout delays the captured output by the drain time and no more', async () => {
  const clock = new FakeClock();
  const containment = await bench.containment('none', clock);
  const child = await bench.spawn(containment, `bash ${childScript('holds-stdout.sh')} ${bench.nonce}`);
  let isDone = false;
  const capturing = captureOutput(child, { maxBytes: 1_000, clock, drainMs: 500 }).finally(() => {
    isDone = true;
  });
  await child.exited;
  await vi.waitFor(() => expect(clock.pendingTimers).toBe(2));

  clock.advance(499);
  expect(isDone).toBe(false);
  clock.advance(1);

  expect(await capturing).toMatchObject({ stdout: 'done\n', truncated: false, status: { code: 0 } });
  expect(bench.living()).not.toEqual([]);
});

test('output after the drain limit is read and dropped, so that its writer never blocks', async () => {
  const stream = new PassThrough();
  const drained = await drain(stream, Promise.resolve(), { maxBytes: 100, clock: new FakeClock(), drainMs: 0 });

  for (let index = 0; index < 100; index += 1) stream.write('x'.repeat(10_000));
  await vi.waitFor(() => expect(stream.writableLength + stream.readableLength).toBe(0));

  expect(drained).toEqual({ text: '', isCut: false });
});

describe('HeadAndTail', () => {
  const kept = (maxBytes: number, ...chunks: string[]) => {
    const buffer = new HeadAndTail(maxBytes);
    for (const chunk of chunks) buffer.push(Buffer.from(chunk));
    return buffer.text();
  };

  test('up to the cap everything is kept, however it was cut into chunks', () => {
    expect(kept(10, '0123456789')).toBe('0123456789');
    expect(kept(10, ...'0123456789')).toBe('0123456789');
    expect(kept(10)).toBe('');
  });

  test.each([
    [['0123456789abcdef']],
    [[...'0123456789abcdef']],
    [['0123', '456789abc', 'def']],
    [['0', '123456789abcdef']],
  ])('past the cap the middle is left out: %j', (chunks) => {
    expect(kept(6, ...chunks)).toBe('012\n[… 10 bytes left out …]\ndef');
  });

  test('a character that the cut goes through is left out whole', () => {
    expect(kept(10, `aaa€${'-'.repeat(20)}€bb`)).toBe('aaa\n[… 23 bytes left out …]\n€bb');
  });

  test('a cap of 0 keeps nothing', () => {
    expect(kept(0, 'abc')).toBe('\n[… 3 bytes left out …]\n');
  });
});
