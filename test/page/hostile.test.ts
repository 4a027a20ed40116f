import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { expectNoSidewaysScroll } from './axe.js';
import { openPage, screenshot } from './browser.js';
import { runningIssue, timelineOf } from './sample-issue.js';
import { APPROVAL, ago, named, readyEntry, runningEntry, stateWith } from './sample-state.js';
import { scriptedServer } from './scripted-server.js';

const IMG = '<img src=x onerror="document.title=`hacked`;globalThis.hacked=1">';
const SCRIPT = '<script>globalThis.hacked=1</script><style>*{display:none}</style>';
const TURNED = 'invoice \u202efdp.exe\u202c \u2066x\u2069 \u200f done';
const LONG = 'x'.repeat(300);
const HOSTILE = [IMG, SCRIPT, TURNED, LONG, '{{ 7*7 }} ${7*7}', '\u001b[31mred\u0007', '‮abc'];

/** Bidirectional and invisible characters. */
const HIDDEN = /[^\P{Cc}\n\t]|[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/u;

const isHacked = (page: Page) => page.evaluate('globalThis.hacked === 1 || document.title === "hacked"');

test('SEC-25 hostile titles, messages, labels and identifiers are shown as text', async () => {
  const entries = HOSTILE.map((text, at) => ({ ...readyEntry(`H-${at}`, text), state: text, why: text }));
  const state = stateWith({
    why_idle: IMG,
    ready: [...entries, readyEntry('<b>../..</b>', 'odd identifier')],
    running: [runningEntry('R-1', IMG, { last_message: SCRIPT, step: { id: IMG, kind: 'x' } })],
    asking: [
      {
        ...named('R-2', SCRIPT),
        run_id: 'r',
        asked_at: ago(1),
        answer_until: ago(-1),
        on_timeout: 'decline',
        questions: [
          { ...APPROVAL, id: 'a', text: `${IMG}\n${TURNED}\n${LONG}` },
          { id: 'b', kind: 'input', text: SCRIPT, fields: [{ id: 'f', label: IMG, options: [SCRIPT, LONG] }] },
        ],
      },
    ],
    holds: [{ source: 'agent', code: IMG, message: SCRIPT, action: IMG, since: ago(1), until: null, tries: 1 }],
    workflow: { ...stateWith({}).workflow, path: `/tmp/${IMG}/WORKFLOW.md`, restart_required: [SCRIPT] },
  });
  const server = await scriptedServer(state);

  const page = await openPage(server.openUrl, { width: 360, height: 740 });

  await page.getByText('<b>../..</b>').waitFor();
  await page.getByRole('heading', { level: 1, name: /<img src=x onerror=/ }).waitFor();
  expect(await page.locator('main img, main script, main style, main b').count()).toBe(0);
  expect(await page.getByText('\\u202efdp.exe').count()).toBeGreaterThan(0);
  expect(await page.locator('main').textContent()).not.toMatch(HIDDEN);
  expect(await isHacked(page)).toBe(false);
  await expectNoSidewaysScroll(page);
  await screenshot(page, 'hostile-phone');
});

test('SEC-25 an address that is not http or https is not a link', async () => {
  const urls = [
    'javascript:globalThis.hacked=1',
    'JaVaScRiPt:globalThis.hacked=1',
    ' javascript:globalThis.hacked=1',
    'data:text/html,<script>1</script>',
    'file:///etc/passwd',
    '//evil.example/x',
    'http://',
    '\u0001https://evil.example',
  ];
  const server = await scriptedServer(stateWith({ ready: urls.map((_, at) => readyEntry(`H-${at}`, 'x')) }));
  for (const [at, url] of urls.entries()) {
    server.script.issues.set(`H-${at}`, (state) => ({
      ...runningIssue(state),
      ...named(`H-${at}`, 'x'),
      issue_url: url,
    }));
  }
  server.script.issues.set('H-good', (state) => ({ ...runningIssue(state), ...named('H-good', 'x') }));
  const page = await openPage(server.openUrl);

  for (const at of urls.keys()) {
    await page.goto(`${server.url}/#/issue/H-${at}`);
    await page.getByRole('heading', { level: 1, name: `H-${at} x` }).waitFor();
    const hrefs = (await page.evaluate('[...document.querySelectorAll("a")].map((a) => a.protocol)')) as string[];
    expect(hrefs.filter((protocol) => protocol !== 'http:')).toEqual([]);
    expect(await page.getByText('Open in the tracker').count()).toBe(0);
  }
  await page.goto(`${server.url}/#/issue/H-good`);
  const link = page.getByRole('link', { name: 'Open in the tracker' });
  await link.waitFor();
  expect(await link.getAttribute('href')).toBe('https://tracker.example/H-good');
  expect(await link.getAttribute('rel')).toBe('noreferrer noopener');
  expect(await isHacked(page)).toBe(false);
});

test('SEC-25 messages and changes of an agent are text in the issue view', async () => {
  const server = await scriptedServer(stateWith({ running: [runningEntry('H-1', IMG)] }));
  server.script.issues.set('H-1', (state) => ({
    ...runningIssue(state),
    ...named('H-1', IMG),
    running: state.running[0] ?? null,
    labels: [SCRIPT, LONG],
    author: { login: IMG, trusted: false },
    rules: [{ rule: IMG, pass: false, why: SCRIPT, action: IMG, params: {} }],
  }));
  const timeline = {
    ...timelineOf('run-H-1', true),
    entries: HOSTILE.map((text) => ({ at: ago(1), kind: 'agent' as const, text, detail: `${text}\n${SCRIPT}` })),
    plan: HOSTILE.map((step) => ({ step, status: 'pending' as const })),
    diff: `diff --git a/${IMG} b/${IMG}\n--- a/x\n+++ b/${IMG}\n@@ -1 +1 @@\n-${SCRIPT}\n+${TURNED}${LONG}\n`,
  };
  server.script.timelines.set('H-1', { timeline, entryCount: timeline.entries.length });

  const page = await openPage(`${server.openUrl}`, { width: 360, height: 740 });
  await page.goto(`${server.url}/#/issue/H-1`);
  await page.getByRole('heading', { name: 'What happened' }).waitFor();

  await page.evaluate('document.querySelectorAll("details").forEach((one) => { one.open = true; })');
  expect(await page.locator('main img, main script, main style').count()).toBe(0);
  expect(await page.locator('main').textContent()).not.toMatch(HIDDEN);
  expect(await isHacked(page)).toBe(false);
  await expectNoSidewaysScroll(page);
  await screenshot(page, 'hostile-issue-phone');
});

test('the page allows no inline scripts or styles, and connects only to its daemon', async () => {
  const server = await scriptedServer(stateWith({}));

  const answer = await fetch(server.url);

  expect(answer.headers.get('content-security-policy')).toContain("default-src 'self'");
  expect(await answer.text()).not.toMatch(/<style|style=|<script(?![^>]*src=)|https?:|\son\w+=/);
});
