import { EventEmitter } from 'node:events';
import type { Writable } from 'node:stream';
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { openScreen, wantsColour } from '../../src/cli/terminal.js';

test.each([
  [true, {}, true],
  [false, {}, false],
  [true, { NO_COLOR: '1' }, false],
  [true, { NO_COLOR: '' }, true],
  [true, { TERM: 'dumb' }, false],
])('colour on a terminal (%s) with %o: %s', (isTTY, env, wanted) => {
  expect(wantsColour({ stdout: { isTTY }, env })).toBe(wanted);
});

/** A terminal that records its output. */
function terminal(isTTY: boolean, rows = 24) {
  const written: string[] = [];
  const stdout = Object.assign(new EventEmitter(), {
    isTTY,
    rows,
    columns: 80,
    write: (text: string) => written.push(text),
  });
  return { stdout: stdout as unknown as Writable, written, resize: () => stdout.emit('resize') };
}

beforeEach(() => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
});

describe('a text on a terminal', () => {
  test('is drawn four times a second at most, and the last of it always', () => {
    const { stdout, written } = terminal(true);
    let text = 'begin';
    const screen = openScreen(
      { stdout },
      () => text,
      () => text,
    );

    for (let count = 0; count < 100; count++) {
      text = `text ${count}`;
      screen.update();
      vi.advanceTimersByTime(10);
    }
    vi.advanceTimersByTime(250);
    screen.close();

    const draws = written.filter((one) => one.startsWith('\u001b[H'));
    expect(draws.length).toBeGreaterThan(2);
    expect(draws.length).toBeLessThanOrEqual(6);
    expect(draws.at(-1)).toBe('\u001b[H\u001b[Ktext 99\u001b[K\u001b[J');
  });

  test('is redrawn when only the time changes it, and not when nothing changes', () => {
    const { stdout, written } = terminal(true);
    let text = '1 s ago';
    const screen = openScreen(
      { stdout },
      () => text,
      () => 'same',
    );
    screen.update();
    vi.advanceTimersByTime(3_000);
    const before = written.length;

    text = '4 s ago';
    vi.advanceTimersByTime(1_500);

    screen.close();
    expect(before).toBe(2);
    expect(written[2]).toContain('4 s ago');
  });

  test('that is higher than the window does not scroll, and shows how many lines are missing', () => {
    const { stdout, written, resize } = terminal(true, 4);
    const screen = openScreen(
      { stdout },
      () => 'a\nb\nc\nd\ne\nf\n',
      () => '',
    );
    screen.update(true);
    Object.assign(stdout, { rows: 6 });
    resize();
    screen.close();

    const [, small, tall] = written;
    expect(small).toBe(
      '\u001b[H\u001b[Ka\u001b[K\r\n\u001b[Kb\u001b[K\r\n\u001b[Kc\u001b[K\r\n\u001b[K… 3 more lines: make the window taller\u001b[K\u001b[J',
    );
    expect(tall).toContain('f\u001b[K\u001b[J');
  });

  test('with lines that the terminal breaks does not scroll either', () => {
    const { stdout, written } = terminal(true, 4);
    const screen = openScreen(
      { stdout },
      () => `top\n\u001b[36m${'x'.repeat(81)}\u001b[0m\n${'y'.repeat(80)}\nend\n`,
      () => '',
    );
    screen.update(true);
    Object.assign(stdout, { rows: 5 });
    screen.update(true);
    screen.close();

    const [, small, tall] = written;
    expect(small).toContain('… 2 more lines');
    expect(tall).not.toContain('more lines');
    // Behind a full row the cursor stands on its last character: clearing from there would take it away.
    expect(tall).toContain(`\r\n\u001b[K${'y'.repeat(80)}\r\n`);
  });

  test('is removed when the screen is closed, and nothing is written afterwards', () => {
    const { stdout, written, resize } = terminal(true);
    const screen = openScreen(
      { stdout },
      () => 'a',
      () => '',
    );
    screen.update();
    screen.update();
    screen.close();
    const last = written.length;

    screen.close();
    resize();
    vi.advanceTimersByTime(10_000);

    expect(written).toHaveLength(last);
    expect(written.at(-1)).toBe('\u001b[?25h\u001b[?1049l');
    expect(stdout.listenerCount('resize')).toBe(0);
  });
});

describe('a text in a pipe', () => {
  test('is printed again only when it has become another', () => {
    const { stdout, written } = terminal(false);
    let key = 'a';
    const screen = openScreen(
      { stdout },
      () => `text of ${key}\n`,
      () => key,
    );
    for (const next of ['a', 'a', 'b', 'b']) {
      key = next;
      screen.update();
      vi.advanceTimersByTime(300);
    }
    screen.close();

    expect(written).toEqual(['text of a\n', `\n${'─'.repeat(40)}\n\ntext of b\n`]);
  });
});
