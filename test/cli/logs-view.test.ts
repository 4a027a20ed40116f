import { describe, expect, test } from 'vitest';
import type { TimelineEntry } from '../../src/api/schemas.js';
import { chooseRuns, unseenEntries } from '../../src/cli/logs.js';
import type { LoggedRun } from '../../src/cli/logs-view.js';
import { renderEntries, renderRunHead } from '../../src/cli/logs-view.js';
import { paintOf } from '../../src/cli/terminal.js';
import { formatMoment } from '../../src/text/format-time.js';
import { widthOf } from '../../src/text/terminal-text.js';

const NOON = new Date(2026, 10, 18, 12, 0, 5).getTime();
const FRAME = { nowMs: NOON, width: null, paint: paintOf(false) };

function entry(text: string, more: Partial<TimelineEntry> = {}): TimelineEntry {
  return { at: new Date(NOON).toISOString(), kind: 'agent', text, detail: null, ...more };
}

function run(number: number, more: Partial<LoggedRun> = {}): LoggedRun {
  return {
    ...{ run_id: `abc-${number}`, run_number: number, reason: 'first', outcome: null, code: null, message: null },
    ...{ started_at: new Date(NOON - 65_000).toISOString(), ended_at: null },
    ...more,
  };
}

describe('the log of a run', () => {
  test('has lines with the local time and a sentence, with details indented', () => {
    const text = renderEntries(
      [
        entry('run 1 began', { kind: 'run' }),
        entry('hook after_create finished (0.2 s)', { kind: 'hook', detail: 'Cloning\n\tdone' }),
        entry('when nobody knows', { at: null }),
      ],
      FRAME,
    );

    expect(text).toBe(`12:00:05  run 1 began
12:00:05  hook after_create finished (0.2 s)
          │ Cloning
          │     done
--:--:--  when nobody knows
`);
  });

  test('on a terminal is wrapped between words, with its indentation', () => {
    const text = renderEntries([entry('a sentence that is longer than it may be', { detail: 'x'.repeat(50) })], {
      ...FRAME,
      width: 40,
    });

    expect(text.split('\n')).toEqual([
      '12:00:05  a sentence that is longer than',
      '          it may be',
      `          │ ${'x'.repeat(28)}`,
      `          │ ${'x'.repeat(22)}`,
      '',
    ]);
    expect(text.split('\n').every((line) => widthOf(line) <= 40)).toBe(true);
  });

  test('shows the beginning of a very long detail, and where to read the rest', () => {
    const detail = Array.from({ length: 100 }, (_, line) => `line ${line}`).join('\n');

    const lines = renderEntries([entry('printed', { detail })], FRAME).split('\n');

    expect(lines).toHaveLength(43);
    expect(lines.at(-2)).toBe('          │ … and 60 more lines, see --raw');
  });

  test('SEC-17 shows control sequences escaped', () => {
    const evil = '\u001b[2J\r\u009b1m\u202e';

    const text =
      renderEntries([entry(evil, { detail: `${evil}\n${evil}` })], FRAME) +
      renderRunHead(evil, run(1, { code: evil }), FRAME);

    expect(text.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\u202e]/u);
  });

  test('begins with the run and its outcome', () => {
    const started = formatMoment(NOON - 65_000, NOON);
    const failed = {
      reason: 'retry',
      ended_at: new Date(NOON).toISOString(),
      outcome: 'failed',
      code: 'turn_failed',
    } as const;

    expect(renderRunHead('TASK-1', run(1), FRAME)).toBe(`Run 1 of TASK-1 · ${started} · running for 1 min · abc-1\n`);
    expect(renderRunHead('TASK-1', run(2, failed), FRAME)).toBe(
      `Run 2 of TASK-1 (retry) · ${started} · failed (turn_failed) after 1 min · abc-2\n`,
    );
    const unpushed = { ended_at: failed.ended_at, outcome: 'success', after_run_failed: true } as const;
    expect(renderRunHead('TASK-1', run(3, unpushed), FRAME)).toBe(
      `Run 3 of TASK-1 · ${started} · success after 1 min, but after_run failed · abc-3\n`,
    );
  });
});

describe('the selected runs', () => {
  const runs = [run(12), run(3, { run_id: '5678ef-7' }), run(2, { run_id: 'abd-7' }), run(1)];

  test('are the newest, all from the oldest on, or the named run', () => {
    const chosen = (choice: { run?: string; all?: boolean }) => {
      const found = chooseRuns(runs, { all: false, ...choice }, 'TASK-1');
      return typeof found === 'string' ? found : found.map(({ run_number }) => run_number);
    };

    expect(chosen({})).toEqual([12]);
    expect(chosen({ all: true })).toEqual([1, 2, 3, 12]);
    expect(chosen({ run: '2' })).toEqual([2]);
    expect(chosen({ run: 'abd-7' })).toEqual([2]);
    expect(chosen({ run: 'abd' })).toEqual([2]);
    expect(chosen({ run: 'abc-1' })).toEqual([1]);
    expect(chosen({ run: 'abc' })).toBe('several runs of TASK-1 begin with abc: abc-12, abc-1');
    expect(chosen({ run: '5' })).toBe('TASK-1 has no run 5; there are 1, 2, 3, 12');
    expect(chosen({ run: '5678e' })).toEqual([3]);
  });

  test('are empty for an issue without runs', () => {
    expect(chooseRuns([], { all: false }, 'TASK-1')).toEqual([]);
    expect(chooseRuns([], { all: false, run: '1' }, 'TASK-1')).toBe('TASK-1 has no run 1');
  });
});

describe('new entries', () => {
  const later = (ms: number) => ({ at: new Date(NOON + ms).toISOString() });
  const all = ['a', 'b', 'b', 'c', 'd'].map((text, at) => entry(text, later(at * 5_000)));

  test('follow the last seen entry', () => {
    for (let seen = 0; seen <= all.length; seen++)
      expect(unseenEntries(all.slice(0, seen), all)).toEqual(all.slice(seen));
  });

  test('are found when the file has slightly later times and lost its beginning', () => {
    const inFile = all.slice(2).map((one, at) => ({ ...one, ...later((at + 2) * 5_000 + 3) }));

    expect(unseenEntries(all.slice(0, 4), inFile)).toEqual(inFile.slice(2));
  });

  test('are none when the file of a killed daemon lacks the last printed entries', () => {
    for (const end of all.keys()) expect(unseenEntries(all, all.slice(0, end))).toEqual([]);
  });

  test('are all entries when nothing matches', () => {
    const others = [entry('x'), entry('d')];

    expect(unseenEntries(all, others)).toEqual(others);
    expect(unseenEntries([], others)).toEqual(others);
  });
});
