import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { NOTICE_KINDS } from '../../src/domain/config.js';
import type { JsonObject } from '../../src/domain/json.js';
import type { Notice } from '../../src/notify/notice.js';
import { noticeJson } from '../../src/notify/notice-json.js';
import { load, writeWorkflow } from '../workflow/workflow-fixture.js';

const DOCUMENT = readFileSync(new URL('../../docs/notifications.md', import.meta.url), 'utf8');
const AT_MS = Date.UTC(2026, 10, 18, 2, 14, 7);

const blocks = (language: string) =>
  Array.from(
    DOCUMENT.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, 'gm')),
    ([, text]) => text ?? '',
  );

const issue = {
  id: 'TASK-7',
  identifier: 'TASK-7',
  title: 'Publish the package',
  url: 'https://tracker.example/TASK-7',
  state: 'In Progress',
};
const fields = [{ id: 'version', label: 'Which version?', options: ['1.0.0', '1.1.0'] }];
const question = { id: 'q-41', kind: 'input', text: 'Which version shall I publish?', fields } as const;
const hold = { code: 'agent_unauthorized', message: 'the agent is logged out', sinceMs: AT_MS - 720_000 } as const;

/** The notices of the documented examples. */
const NOTICES: readonly Notice[] = [
  { kind: 'asking', atMs: AT_MS, issue, question },
  { kind: 'parked', atMs: AT_MS, issue, reason: 'input_required', message: 'no answer in time', question },
  { kind: 'hold', atMs: AT_MS, event: 'begun', source: 'agent', hold },
  { kind: 'hold', atMs: AT_MS, event: 'over', source: 'agent', hold },
  { kind: 'done', atMs: AT_MS, issue: { ...issue, state: 'Done' }, isTerminal: true, runs: 3, tokens: 412_000 },
  { kind: 'daily_report', atMs: AT_MS, text: '4 issues done, 1 parked.', report: { done: 4, parked: 1 } },
  { kind: 'digest', atMs: AT_MS, counts: { parked: 30, done: 7 }, identifiers: ['TASK-21', 'TASK-22'] },
];

const SENT = NOTICES.map((notice) =>
  noticeJson({ notice, repeated: 0 }, 0, {
    mask: (text) => text,
    workflow: { path: '/srv/web/WORKFLOW.md', dir: '/srv/web' },
    page: () => null,
  }),
);

function keysOf(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(keysOf);
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, child]) => [key, ...keysOf(child)]);
}

describe('docs/notifications.md', () => {
  const examples: JsonObject[] = blocks('json').map((text) => JSON.parse(text));

  test('has an example of every kind that matches the notice', () => {
    const kinds = examples.map(({ kind, reason }) => `${kind} ${reason}`);

    expect(kinds).toEqual(SENT.map(({ kind, reason }) => `${kind} ${reason}`));
    for (const [index, example] of examples.entries()) expect(SENT[index]).toMatchObject(example);
    expect(SENT.map(({ kind }) => kind)).toEqual(expect.arrayContaining([...NOTICE_KINDS]));
  });

  test('shows the first one in full', () => {
    expect(examples[0]).toEqual(SENT[0]);
  });

  test('has a row for every key, and no other', () => {
    const table = DOCUMENT.split('| key | what |')[1]?.split('\n\n')[0] ?? '';
    const documented = Array.from(table.matchAll(/^\| `(\w+)`/gm), ([, key]) => key);

    expect(documented).toEqual(Object.keys(SENT[0] ?? {}));
    const inner = keysOf(SENT.map(({ issue, question }) => ({ issue, question })));
    expect(inner.filter((key) => !table.includes(`\`${key}\``))).toEqual([]);
  });

  test('shows settings that load without a warning', async () => {
    const settings = blocks('yaml');

    expect(settings.length).toBeGreaterThan(3);
    for (const text of settings) {
      const { workflow } = await load(writeWorkflow(`---\ntracker: { kind: linear }\n${text}---\nWork.\n`), {
        BATON_NOTIFY_URL: 'https://hooks.example/x',
        LINEAR_API_KEY: 'x',
      });
      expect(workflow.warnings).toEqual([]);
    }
  });
});
