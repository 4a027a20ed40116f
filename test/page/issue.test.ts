import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { expect, onTestFinished, test } from 'vitest';
import { openPage } from './browser.js';
import { runningIssue, timelineOf } from './sample-issue.js';
import { ago, INPUT, named, stateWith, workingDay } from './sample-state.js';
import { type ScriptedServer, type ScriptOptions, scriptedServer } from './scripted-server.js';

async function openIssue(options: ScriptOptions = {}): Promise<{ server: ScriptedServer; page: Page }> {
  const server = await scriptedServer(workingDay(), options);
  server.script.issues.set('SHOP-231', runningIssue);
  server.script.timelines.set('SHOP-231', { timeline: timelineOf('run-SHOP-231', true), entryCount: 9 });
  const page = await openPage(server.openUrl);
  await page.getByRole('link', { name: /^SHOP-231/ }).click();
  await page.getByRole('heading', { name: 'What happened' }).waitFor();
  return { server, page };
}

test('the timeline of a run grows live, with its plan and its changes', async () => {
  const { server, page } = await openIssue();
  const known = timelineOf('run-SHOP-231', true);
  const happened = page.getByRole('region', { name: 'What happened' });
  await happened.getByText('hook before_run finished').click();

  server.script.timelines.set('SHOP-231', {
    entryCount: 10,
    timeline: {
      ...known,
      entries: [...known.entries, { at: ago(0), kind: 'agent', text: 'said: all green', detail: null }],
      plan: known.plan.map((step) => ({ ...step, status: 'completed' as const })),
      diff: 'diff --git a/new.txt b/new.txt\n--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1 @@\n+fresh\n',
    },
  });

  await happened.getByText('said: all green').waitFor();
  expect(await happened.getByRole('listitem').first().textContent()).toContain('said: all green');
  expect(await happened.getByText('Already up to date.').isVisible()).toBe(true);
  await page.getByRole('region', { name: 'Plan' }).getByText('4 of 4').waitFor();
  await page
    .getByRole('region', { name: /^Changes \d/ })
    .getByText('+fresh')
    .waitFor();
  expect(await page.title()).toBe('(2) SHOP-231 · Baton');
});

test('the duration of a run is updated without an event', async () => {
  const { page } = await openIssue();
  const took = page.getByRole('region', { name: /^Run 2/ }).getByText(/^6 min \d+ s$/);
  const before = await took.textContent();

  await expect.poll(() => took.textContent(), { timeout: 10_000 }).not.toBe(before);
});

test('an earlier run is chosen from the list, with its outcome and its cost', async () => {
  const { page } = await openIssue();

  await page.getByRole('link', { name: /^Run 1/ }).click();

  await page.getByRole('heading', { name: 'Run 1' }).waitFor();
  const run = page.getByRole('region', { name: 'Run 1' });
  await run.getByText('failed (turn_failed): the model stopped: context window exceeded').waitFor();
  await run.getByText('2 turns, 4.3M tokens').waitFor();
  expect(page.url()).toContain('run=run-231-1');
});

test('a transcript is saved as a file', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'baton-page-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, 'transcript.jsonl');
  writeFileSync(file, '{"kind":"run_began"}\n');
  const { page } = await openIssue({ source: { transcript: async () => file } });

  const saved = page.waitForEvent('download');
  await page.getByRole('link', { name: 'Save the transcript' }).click();

  expect((await saved).suggestedFilename()).toBe('SHOP-231-run-SHOP-231.jsonl');
});

test('an issue that changes is updated: its status, its buttons, its question', async () => {
  const { server, page } = await openIssue();
  await page.getByRole('button', { name: 'Stop SHOP-231' }).waitFor();

  const parked = {
    ...named('SHOP-231', 'Cart loses its coupon after a login'),
    reason: 'input_required',
    since: ago(0),
    message: 'it asks',
    question: INPUT,
    keeps_slot: false,
    failures: 0,
  };
  server.show(stateWith({ parked: [parked] }));

  await page.getByText('Parked: needs an answer. It continues with your answer.').waitFor();
  await page.getByRole('radio', { name: '90 days' }).waitFor();
  expect(await page.getByRole('button', { name: 'Stop SHOP-231' }).count()).toBe(0);
  expect(await page.getByRole('button', { name: 'Retry SHOP-231' }).isVisible()).toBe(true);
});
