import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { reportSummary } from '../../src/report/report-sentences.js';
import { reportColumns, reportMarkdown, reportText } from '../../src/report/report-text.js';
import { oneLine, widthOf } from '../../src/text/terminal-text.js';
import { codeOf, ROW_READERS } from './markdown-cells.js';
import { failed, finished, NOON_MS, PRICING, reportOf, run } from './report-samples.js';

/** Whatever an issue can be called, all of it hostile. */
const hostile = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 60 }),
  fc.string({
    unit: fc.constantFrom(...'|\\`<>[]()!@#*_~:/-\n\r\t a', '\u001b', '\u202e', '漢', '\ud800'),
    maxLength: 60,
  }),
  fc.constantFrom(
    'x\nWhat Baton did: everything',
    '\u001b[2J\u001b]0;x\u0007',
    'a | b |\n| --- |',
    '`` ` ``',
    '</td><script>alert(1)</script>',
    '[x](javascript:alert(1)) https://example.org www.example.org @everyone #1',
    '\\|\\\\|',
    '`'.repeat(40),
  ),
);
const CONTROL = /[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/u;

/** One issue with that text wherever others can write. */
function reportWith(text: string) {
  const issue = { issueId: 'A', identifier: text, title: text };
  const model = text === '' ? null : text;
  const tokens = { input: 5, cached: 0, output: 1 };
  return reportOf({
    runs: [run({ ...issue, model, tokens, end: failed, author: text, labels: [text] })],
    finished: [finished({ ...issue, state: text })],
    pricing: PRICING,
  });
}

describe('on a terminal', () => {
  test('a report has totals, a line for each issue in aligned columns, and notes', () => {
    const tokens = { input: 1_200_000, cached: 900_000, output: 46_000 };
    const runs = [
      run({ issueId: 'TASK-1', title: 'Write a greeting', tokens }),
      run({ issueId: 'TASK-20', title: 'Translate the greeting', end: failed }),
      run({
        issueId: 'TASK-20',
        title: 'Translate the greeting',
        number: 2,
        reason: 'retry',
        end: null,
        model: 'new',
        tokens,
      }),
    ];

    const text = reportText(
      reportOf({ runs, finished: [finished({ issueId: 'TASK-1', title: 'Write a greeting' })], pricing: PRICING }),
      80,
    );

    expect(text.split('\n').slice(1)).toEqual([
      '',
      '  2 issues worked on, 1 done',
      '  3 runs: 1 finished, 1 failed, 1 not ended yet; 1 after a failure',
      '  failures: 1 turn_failed',
      '  692k tokens: 2.4M input, 1.8M of it cached, and 92k output',
      '  cost: at least 1.51 USD',
      '  time: 20 min',
      '',
      'issue    went to  runs  last run       tokens   USD    time  title',
      'TASK-1   Done        1  finished         346k  1.51  10 min  Write a greeting',
      'TASK-20  –           2  not ended yet    346k     ?  10 min  Translate the gree…',
      '',
      'The cost is incomplete: pricing.models has no price for "new".',
      '',
    ]);
  });

  test('without prices there is no cost', () => {
    const text = reportText(reportOf({ runs: [run({ tokens: { input: 5, cached: 0, output: 1 } })] }), 80);

    expect(text).toContain('  6 tokens: 5 input, 0 of it cached, and 1 output\n  time: 10 min\n');
    expect(text).not.toMatch(/cost|USD/);
  });

  test('text of others does not move the cursor, exceed the width of the terminal or start a line', () => {
    const ownRows = reportText(reportWith('x'), 80)
      .split('\n')
      .filter((line) => /^\S/.test(line)).length;
    fc.assert(
      fc.property(hostile, fc.integer({ min: 40, max: 200 }), (text, columns) => {
        const lines = reportText(reportWith(text), columns).split('\n');

        for (const line of lines) expect(widthOf(line)).toBeLessThanOrEqual(columns);
        expect(lines.join('')).not.toMatch(CONTROL);
        // A row of the table whose identifier shows nothing begins with a gap.
        expect(lines.filter((line) => /^\S/.test(line)).length).toBeLessThanOrEqual(ownRows);
      }),
    );
  });

  test('a very long identifier does not push the numbers away', () => {
    const lines = reportText(reportWith('x'.repeat(5_000)), 120).split('\n');

    expect(lines.find((line) => line.startsWith('xxx'))).toMatch(/^x{27}… {2}x{27}… {2} {3}1 {2}turn_failed/);
  });

  test('without a terminal no line is wrapped', () => {
    const text = reportText(reportWith('x'.repeat(200)), undefined);

    expect(text.split('\n').filter((line) => line.startsWith('xxx'))).toHaveLength(1);
  });
});

test.each([
  ['success', null, 'finished'],
  ['failed', 'turn_failed', 'turn_failed'],
  ['cancelled', 'stall_timeout', 'stall_timeout'],
  ['cancelled', 'INTERRUPTED', 'interrupted'],
  ['cancelled', 'STOPPED_BY_OPERATOR', 'stopped'],
  ['cancelled', 'CANCELLED_BY_ORCHESTRATOR', 'stopped'],
] as const)('a last run that is %s with %s is shown as %s', (outcome, code, shown) => {
  const column = reportColumns(reportOf({ runs: [run({ end: { outcome, code } })] })).find(
    ({ head }) => head.text === 'last run',
  );

  expect(column?.cells).toEqual([{ text: shown, isForeign: false }]);
});

test('a last run whose after_run failed says so', () => {
  const column = reportColumns(
    reportOf({ runs: [run({ end: { outcome: 'success', code: null, afterRunFailed: true } })] }),
  ).find(({ head }) => head.text === 'last run');

  expect(column?.cells).toEqual([{ text: 'finished, after_run failed', isForeign: false }]);
});

describe('as Markdown', () => {
  test('a report is a heading, a list and a table', () => {
    const runs = [run({ author: 'ann', tokens: { input: 1_000_000, cached: 0, output: 0 } })];

    const lines = reportMarkdown(reportOf({ runs, by: 'author', pricing: PRICING })).split('\n');

    expect(lines[0]).toMatch(/^## What Baton did from \d{4}-\d\d-\d\d \d\d:\d\d to /);
    expect(lines.slice(1)).toEqual([
      '',
      '- 1 issue worked on',
      '- 1 run: 1 finished',
      '- 1M tokens: 1M input, 0 of it cached, and 0 output',
      '- cost: 2.00 USD',
      '- time: 10 min',
      '',
      '| author | issues | done | handed over | runs | failed | tokens | USD | time |',
      '| --- | --: | --: | --: | --: | --: | --: | --: | --: |',
      '| `ann` | 1 | 0 | 0 | 1 | 0 | 1M | 2.00 | 10 min |',
      '',
    ]);
  });

  test('text of others is a code span in its own cell, with the same content', () => {
    const ownLines = reportMarkdown(reportWith('x')).split('\n').length;
    fc.assert(
      fc.property(hostile, (text) => {
        const lines = reportMarkdown(reportWith(text)).split('\n');
        const row = lines.findLast((line) => line.startsWith('|')) ?? '';
        const shown = oneLine(text).replaceAll('\\|', '\\ |');

        expect(lines).toHaveLength(ownLines);
        for (const read of ROW_READERS) {
          const cells = read(row);
          const foreign = [cells[0], cells[1], cells[7]];
          expect(cells).toHaveLength(8);
          for (const cell of foreign) expect(shown === '' ? cell : codeOf(cell ?? '')).toBe(shown);
        }
        expect(lines.join('')).not.toMatch(CONTROL);
      }),
    );
  });

  test('a currency that is not a word is a code span too', () => {
    const pricing = { ...PRICING, currency: '[x](http://example.org)|' };

    const markdown = reportMarkdown(reportOf({ runs: [run()], pricing }));

    expect(markdown).toContain('cost: 0.00 `[x](http://example.org)|`');
    expect(markdown).toContain('| `[x](http://example.org)\\|` |');
  });
});

describe('in one paragraph', () => {
  test('a report has issues, runs and cost', () => {
    const runs = [run(), run({ issueId: 'B', end: failed, tokens: { input: 1_000_000, cached: 0, output: 0 } })];
    const left = [finished(), finished({ issueId: 'B', state: 'In Review', isTerminal: false })];

    expect(reportSummary(reportOf({ runs, finished: left, pricing: PRICING }))).toMatch(
      /^Since \d{4}-\d\d-\d\d \d\d:\d\d: 2 issues worked on, 1 done \(A\), 1 handed over \(B\)\. 2 runs: 1 finished, 1 failed; failures: 1 turn_failed\. 1M tokens, 2\.00 USD, 20 min\.$/,
    );
  });

  test('names a few of many issues', () => {
    const left = Array.from({ length: 100 }, (_, n) => finished({ issueId: `TASK-${n}`, atMs: NOON_MS - n }));

    expect(reportSummary(reportOf({ finished: left }))).toContain(
      '100 done (TASK-0, TASK-1, TASK-2, TASK-3, TASK-4, 95 more)',
    );
  });

  test('states when no work was done', () => {
    expect(reportSummary(reportOf({}))).toMatch(/^Since .{16}: nothing was done\.$/);
  });

  test('is one line of at most 600 characters, however large the report is', () => {
    const name = (n: number) => `${n}`.padStart(60, 'x');
    const codes = ['agent_model_not_found', 'UnwiredHttpTransport', 'AGENT_INVOCATION_FAILED', 'turn_failed'] as const;
    const outcomes = ['success', 'failed', 'timeout', 'cancelled'] as const;
    const runs = Array.from({ length: 400 }, (_, n) =>
      run({
        issueId: name(n),
        model: n % 2 ? 'big' : 'other',
        tokens: { input: 1e12, cached: 0, output: 1e12 },
        end: n < 4 ? null : { outcome: outcomes[n % 4] ?? 'failed', code: codes[n % 3] ?? null, atMs: NOON_MS * 2 },
      }),
    );
    const left = runs.map(({ issueId }, n) => finished({ issueId, isTerminal: n % 2 === 0 }));

    const summary = reportSummary(
      reportOf({ runs, finished: left, pricing: { ...PRICING, currency: 'x'.repeat(99) } }),
    );

    expect(summary.length).toBeLessThanOrEqual(600);
    expect(summary).toContain('at least ');
  });

  test('is one line without control characters, whatever the names of issues are', () => {
    fc.assert(
      fc.property(fc.array(hostile, { maxLength: 20 }), (texts) => {
        const left = texts.map((identifier, n) => finished({ issueId: `${n}`, identifier, isTerminal: n % 2 === 0 }));
        const summary = reportSummary(reportOf({ finished: left }));

        expect(summary.length).toBeLessThanOrEqual(600);
        expect(summary).not.toMatch(CONTROL);
      }),
    );
  });
});

describe('notes', () => {
  const empty = (note: Parameters<typeof reportText>[0]['notes'][number]) =>
    reportText({ ...reportOf({}), notes: [note] }, undefined).split('\n\n')[1];

  test.each([
    [{ kind: 'no_state', dir: '/s' } as const, /^There is no state in "\/s": no daemon has worked there yet\./],
    [{ kind: 'nothing_found', dir: '/s', last: null } as const, /^No run is recorded in "\/s"\.$/],
    [
      { kind: 'nothing_found', dir: '/s', last: { identifier: 'T\u001b-1', startedAtMs: NOON_MS } } as const,
      /^The last run in "\/s" began \d{4}-\d\d-\d\d \d\d:\d\d, on "T\\u001b-1": --since \d{4}-\d\d-\d\d shows it\.$/,
    ],
    [{ kind: 'no_prices', why: 'a\nb' } as const, /^There are no prices, because the workflow cannot be read: "a b"$/],
    [{ kind: 'newest_only', runs: 5 } as const, /^Only the newest 5 runs are counted/],
    [{ kind: 'unpriced', models: ['m', null] } as const, /no price for "m", runs whose agent named no model\.$/],
  ])('%j is a sentence', (note, sentence) => {
    expect(empty(note)?.trimEnd()).toMatch(sentence);
  });
});
