import { readFileSync } from 'node:fs';
import { afterEach, describe, expect, test } from 'vitest';
import { DEFAULT_SINCE, SINCE_FORMS } from '../../src/report/parse-since.js';
import { REPORT_BY, type ReportBy } from '../../src/report/report.js';
import { reportJson } from '../../src/report/report-json.js';
import { reportMarkdown, reportText } from '../../src/report/report-text.js';
import { failed, finished, PRICING, reportOf, run } from './report-samples.js';

const DOCUMENT = readFileSync(new URL('../../docs/report.md', import.meta.url), 'utf8');

function keysOf(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(keysOf);
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, child]) => [key, ...keysOf(child)]);
}

test('docs/report.md names every field of the JSON, every form of --since and every grouping', () => {
  const runs = [run({ end: failed }), run({ issueId: 'B', model: 'x', tokens: { input: 1, cached: 0, output: 0 } })];
  const json = reportJson(reportOf({ runs, finished: [finished()], pricing: PRICING }), 'dir');

  const words = [...keysOf(json), ...SINCE_FORMS.split(/, | or /), DEFAULT_SINCE, ...REPORT_BY];
  const undocumented = words.filter((word) => !DOCUMENT.includes(`\`${word}\``) && !DOCUMENT.includes(`\`${word}[]\``));
  expect([...new Set(undocumented)]).toEqual([]);
});

/** The one that the document shows. */
function night(by: ReportBy) {
  const greet = { issueId: 'TASK-1', title: 'Write a greeting', labels: ['docs'] };
  const translate = { issueId: 'TASK-2', title: 'Translate the greeting', labels: ['docs'] };
  const count = { issueId: 'TASK-3', title: 'Count the words of the README', model: 'other-model' };
  const some = { input: 20_000, cached: 9_000, output: 4_600 };
  const startedAtMs = Date.UTC(2026, 10, 17, 2, 10);
  return reportOf({
    ...{ by, sinceMs: Date.UTC(2026, 10, 16), untilMs: Date.UTC(2026, 10, 17, 9, 12) },
    pricing: { currency: 'USD', models: { 'some-model': { input: 2, cachedInput: 0.5, output: 10 } } },
    runs: [
      { ...greet, tokens: { input: 1_200_000, cached: 900_000, output: 46_000 } },
      { ...translate, tokens: some, end: failed },
      { ...translate, tokens: some, number: 2, reason: 'retry' as const },
      { ...count, tokens: some, end: null },
    ].map((one) => run({ runId: 'c0ffee01-1', model: 'some-model', startedAtMs, ...one })),
    finished: [
      finished({ ...greet, atMs: startedAtMs }),
      finished({ ...translate, runs: 2, state: 'In Review', isTerminal: false, atMs: startedAtMs }),
    ],
  });
}

describe('the examples of docs/report.md match the output', () => {
  const zone = process.env.TZ;
  afterEach(() => {
    if (zone === undefined) delete process.env.TZ;
    else process.env.TZ = zone;
  });

  test('on the terminal and as Markdown', () => {
    process.env.TZ = 'UTC';

    expect(DOCUMENT).toContain(`\`\`\`\n${reportText(night('issue'), 100)}\`\`\``);
    expect(DOCUMENT).toContain(`\`\`\`\n${reportMarkdown(night('label'))}\`\`\``);
  });

  test('as JSON', () => {
    const [, example = ''] = /```json\n(.*?)```/s.exec(DOCUMENT) ?? [];
    const { groups, totals, ...shown } = JSON.parse(example);
    const json = reportJson(night('issue'), shown.state_dir);

    expect(json).toMatchObject(shown);
    expect(json.totals.issues).toEqual(totals.issues);
    expect(json.groups[0]).toEqual(groups[0]);
  });
});
