import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { NOTICE_KINDS } from '../../src/domain/config.js';
import { createRedactor } from '../../src/logging/redact.js';
import type { Notice } from '../../src/notify/notice.js';
import { sampleNotice } from '../../src/notify/notice.js';
import { noticeJson } from '../../src/notify/notice-json.js';
import { MAX_TEXT_LENGTH } from '../../src/notify/notice-text.js';
import { asking, done, hold, parked, report } from './samples.js';

const CONTEXT = {
  mask: (text: string) => text,
  workflow: { path: '/project/web/WORKFLOW.md', dir: '/project/web' },
  page: () => null,
};

const json = (notice: Notice, context: Partial<Parameters<typeof noticeJson>[2]> = {}, repeated = 0, missed = 0) =>
  noticeJson({ notice, repeated }, missed, { ...CONTEXT, ...context });
const textOf = (notice: Notice, ...rest: [Parameters<typeof json>[1]?, number?, number?]) =>
  String(json(notice, ...rest).text);

describe('the text of a notice', () => {
  test.each<[string, Notice, string[]]>([
    ['asking', asking('AB-1'), ['AB-1 needs an answer: Title of AB-1', '> May I?', 'Answer with `baton answer AB-1`.']],
    [
      'parked',
      parked('AB-1'),
      ['AB-1 is parked (no_progress): Title of AB-1', '> nothing changed', '`baton retry AB-1`'],
    ],
    ['hold', hold('begun'), ['Baton is on hold in web (agent_unauthorized): nothing new is started', '> log in again']],
    ['over', hold('over'), ['Baton goes on in web: the hold is over (agent_unauthorized) after 12 min']],
    ['done', done('AB-1'), ['AB-1 is done (Done): Title of AB-1', '2 runs, 48k tokens']],
    ['handed over', done('AB-1', false), ['AB-1 was handed over (Review): Title of AB-1']],
    ['report', report(), ['Daily report of web', 'Two issues were done.']],
    [
      'digest',
      { kind: 'digest', atMs: 0, counts: { parked: 30, done: 7 }, identifiers: ['AB-1', 'AB-2'] },
      ['And 37 more in web: 30 parked, 7 done', '> AB-1, AB-2'],
    ],
  ])('%s names the event, its subject and the next step', (_, notice, lines) => {
    const text = textOf(notice);

    for (const line of lines) expect(text).toContain(line);
    expect(text.split('\n')[0]).toBe(lines[0]);
  });

  test('a parked question can be answered, and its options are shown', () => {
    const fields = [{ id: 'v', label: 'Version', options: ['1.0', '2.0'] }];
    const question = { id: 'q', kind: 'input', text: 'Which one?', fields } as const;

    const text = textOf(parked('AB-1', 'input_required', { question }));

    expect(text).toContain('> Which one?\n> Version – 1.0 / 2.0\nAnswer with `baton answer AB-1`');
  });

  test('repeats, lost notices and tests are mentioned', () => {
    const text = textOf(parked('AB-1'), { isTest: true }, 3, 12);

    expect(text).toMatch(/^Test: AB-1 is parked/);
    expect(text).toContain('(the last of 3 notices that were held back as repeats)');
    expect(text).toContain('(12 earlier notices could not be delivered)');
  });

  test('it links the page, or else the issue if that is a web address', () => {
    const page = (identifier: string | null) => `http://127.0.0.1:4711/#/${identifier}`;

    expect(textOf(asking('AB-1', 'q', { url: 'https://t.example/1?a=b&c=d' }))).toMatch(
      /\nhttps:\/\/t\.example\/1\?a=b&amp;c=d$/,
    );
    expect(textOf(asking('AB-1', 'q', { url: 'javascript:alert(1)' }))).not.toContain('javascript');
    expect(json(asking('AB-1', 'q', { url: 'javascript:alert(1)' }))).toMatchObject({ issue: { url: null } });
    expect(textOf(asking('AB-1', 'q', { url: 'https://t.example/1' }), { page })).toMatch(/\nhttp:\/\/127.*AB-1$/);
  });
});

describe('hostile text', () => {
  const title = '<!channel> <@U1> @here [pay](http://evil.example) a & b\nAB-2 is done\u001b[2J\u202e';

  test('mentions no person, hides no link, adds no line and moves no cursor', () => {
    const text = textOf(asking('AB-1', { text: `ok?\n${title}` }, { title }));

    expect(text).not.toMatch(/<!|<@|@here|\]\(|[^\P{Cc}\n]|\u202e/u);
    expect(text).toContain('&lt;!channel&gt; &lt;@\u200bU1&gt; @\u200bhere [pay]\u200b(http://evil.example) a &amp; b');
    const ours = text.split('\n').filter((line) => !line.startsWith('> '));
    expect(ours).toHaveLength(2);
  });

  test('an identifier that is not a plain word does not get into a command to copy', () => {
    for (const identifier of ['A; rm -rf ~', '--help', '$(x)', 'a b', '`x`']) {
      expect(String(json(asking('A', 'q', { identifier })).action)).toBe('Answer with `baton answer <issue>`.');
    }
  });

  test('secrets are masked before texts are cut, escaped or joined', () => {
    const secret = 'a<b>&"canary"';
    const { mask } = createRedactor([secret, 'x'.repeat(20)]);
    const notices = [
      asking('AB-1', {
        text: `${'y'.repeat(890)}${'x'.repeat(20)}`,
        fields: [{ id: 'f', label: secret, options: [secret] }],
      }),
      parked('AB-1', 'budget', { message: secret }),
      hold('begun', 'agent_unauthorized', secret),
      done('AB-1', true, { title: secret, url: `https://t.example/${'x'.repeat(20)}` }),
      report(secret),
    ];

    for (const notice of notices) {
      const { report: _, ...sent } = json(notice, { mask });
      expect(JSON.stringify(sent)).not.toMatch(/canary|xxx/);
    }
  });

  test('any text stays short, harmless and well-formed', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 3_000 }), fc.string({ maxLength: 3_000 }), (one, other) => {
        const notice = asking('AB-1', { text: `<${one}&${other}>`.repeat(2) }, { title: other, identifier: one });

        const { text, summary } = json(notice) as { text: string; summary: string };

        expect(text.length).toBeLessThanOrEqual(MAX_TEXT_LENGTH);
        expect(summary.length).toBeLessThanOrEqual(200);
        expect(text).not.toMatch(/\p{Surrogate}/u);
        expect(text.replace(/^> /gm, '')).not.toMatch(/[<>]|&(?!(?:amp|lt|gt);)/);
        expect(summary).not.toContain('\n');
      }),
    );
  });
});

test('a report that is too large is left out, its text stays', () => {
  const large = { ...report(), report: { lines: 'x'.repeat(200_000) } };

  expect(json(large)).toMatchObject({ report: null, message: 'Two issues were done.' });
});

test.each(NOTICE_KINDS)('the sample of %s is complete', (kind) => {
  const sent = json(sampleNotice(kind, Date.UTC(2026, 0, 1)), { isTest: true });

  expect(sent).toMatchObject({ source: 'baton', version: 1, kind, at: '2026-01-01T00:00:00.000Z', test: true });
});
