import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { openPage } from './browser.js';
import { asksInput, pageDaemon, receivedBy } from './real-daemon.js';
import { APPROVAL, ago, named, readyEntry, runningEntry, stateWith, workingDay } from './sample-state.js';
import { scriptedServer } from './scripted-server.js';

const focused = (page: Page) =>
  page.evaluate('document.activeElement?.getAttribute("aria-label") ?? document.activeElement?.textContent ?? ""');

async function tabTo(page: Page, name: RegExp, limit = 40): Promise<void> {
  for (let count = 0; count < limit; count += 1) {
    await page.keyboard.press('Tab');
    if (name.test(String(await focused(page)).trim())) return;
  }
  throw new Error(`Tab never came to ${name}`);
}

test('a question is found, answered and left with the keyboard alone', async () => {
  const daemon = await pageDaemon(asksInput(), 'agent: { max_turns: 1 }');
  daemon.tracker.put({ id: '1', identifier: 'AB-1' });
  await daemon.until('asking', (state) => state.claims['1']?.live.run?.askedAtAwakeMs != null);
  const page = await openPage(daemon.openUrl);
  await page.getByRole('article', { name: 'AB-1 asks' }).waitFor();

  await page.keyboard.press('n');
  expect(await focused(page)).toBe('AB-1 asks');
  await page.keyboard.press('Tab');
  await page.keyboard.press('Tab');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Tab');
  await page.keyboard.type('typed by hand');
  await page.keyboard.press('Control+Enter');

  await page.getByText('The agent of AB-1 has your answer.').waitFor();
  expect(await focused(page)).toContain('has your answer');
  const answers = '{"keep":{"answers":["90 days"]},"name":{"answers":["typed by hand"]}}';
  await expect.poll(() => receivedBy(daemon, 'AB-1')).toContain(answers);
});

test('a stop needs confirmation with the focus on the harmless choice, and Escape keeps the run', async () => {
  const server = await scriptedServer(workingDay());
  const page = await openPage(server.openUrl);
  await page.getByRole('heading', { level: 2, name: 'Running' }).waitFor();

  await tabTo(page, /^Stop SHOP-224$/);
  await page.keyboard.press('Enter');

  expect(await focused(page)).toBe('Keep it');
  await page.keyboard.press('Escape');
  expect(await focused(page)).toBe('Stop SHOP-224');
});

test('every element that Tab reaches shows its focus', async () => {
  const server = await scriptedServer(workingDay());
  const page = await openPage(server.openUrl);
  await page.getByText('Last 30 days').waitFor();

  const seen = new Set<string>();
  for (let count = 0; count < 60; count += 1) {
    await page.keyboard.press('Tab');
    const [name, outline] = (await page.evaluate(`(() => {
      const at = document.activeElement;
      const style = getComputedStyle(at);
      return [at.tagName + ' ' + (at.getAttribute('aria-label') ?? at.textContent).trim(), style.outlineStyle + ' ' + style.outlineWidth];
    })()`)) as [string, string];
    if (name.startsWith('BODY')) break;
    seen.add(name);
    expect(outline, name).toBe('solid 2px');
  }

  expect([...seen].join('\n')).toMatch(
    /Skip to the issues[\s\S]*Baton, all issues[\s\S]*Accept[\s\S]*Stop SHOP-224[\s\S]*As a table/,
  );
});

test('? shows the shortcuts, and they can be turned off', async () => {
  const server = await scriptedServer(workingDay());
  const page = await openPage(server.openUrl);
  await page.getByRole('heading', { level: 2, name: 'Running' }).waitFor();

  await page.keyboard.press('?');
  const dialog = page.getByRole('dialog', { name: 'Keyboard shortcuts' });
  await dialog.getByText('filter the issues').waitFor();
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'hidden' });
  await page.keyboard.press('/');
  expect(await page.getByRole('searchbox').evaluate('document.activeElement.id')).toBe('filter');
  await page.keyboard.type('n?');
  expect(await page.getByRole('searchbox').inputValue()).toBe('n?');
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: 'Keyboard shortcuts' }).click();
  await dialog.getByRole('checkbox').uncheck();
  await dialog.getByRole('button', { name: 'Close' }).click();
  await page.keyboard.press('?');

  expect(await dialog.isVisible()).toBe(false);
});

test('shortcuts work while a radio button has the focus', async () => {
  const server = await scriptedServer(workingDay());
  const page = await openPage(server.openUrl);
  await page.getByRole('radio').first().focus();

  await page.keyboard.press('/');

  expect(await page.evaluate('document.activeElement.id')).toBe('filter');
});

test('returning from an issue restores the scroll position and the focus', async () => {
  const state = stateWith({
    ready: Array.from({ length: 49 }, (_, at) => readyEntry(`N-${at}`, `issue number ${at}`)),
  });
  const server = await scriptedServer(state);
  const page = await openPage(server.openUrl, { allowed: /404/ });
  const link = page.getByRole('link', { name: 'N-40 issue number 40' });
  await link.scrollIntoViewIfNeeded();
  const before = await page.evaluate('scrollY');

  await link.click();
  await page.getByRole('heading', { level: 1, name: 'N-40' }).waitFor();
  await page.goBack();
  await link.waitFor();

  await expect.poll(() => page.evaluate('scrollY')).toBe(before);
  expect(await focused(page)).toBe('N-40 issue number 40');
});

test('new questions are announced, and counted in the title of the tab', async () => {
  const server = await scriptedServer(stateWith({}));
  const page = await openPage(server.openUrl);
  await page.getByText('Nothing needs you.').waitFor();

  const issue = named('S-1', 'x');
  const asking = { ...issue, run_id: 'r', asked_at: ago(0), answer_until: ago(-5), on_timeout: 'park' as const };
  server.show(
    stateWith({
      running: [runningEntry('S-1', 'x', { asking: true })],
      asking: [{ ...asking, questions: [APPROVAL] }],
    }),
  );

  await expect.poll(() => page.getByRole('status').allTextContents()).toContain('S-1 needs you.');
  expect(await page.title()).toBe('(1) Baton');
});

test('nothing moves under the pointer, and an answered question stays until the pointer leaves', async () => {
  const ask = (identifier: string, id: string) => ({
    ...named(identifier, 'x'),
    run_id: id,
    asked_at: ago(id === 'q1' ? 5 : 1),
    answer_until: ago(-5),
    on_timeout: 'park' as const,
    questions: [{ ...APPROVAL, id }],
  });
  const first = stateWith({
    asking: [ask('S-1', 'q1'), ask('S-2', 'q2')],
    ready: [readyEntry('N-1', 'one'), readyEntry('N-2', 'two')],
  });
  const server = await scriptedServer(first);
  const page = await openPage(server.openUrl);
  await page.getByRole('article', { name: 'S-1 asks' }).hover();

  server.show(stateWith({ asking: [ask('S-2', 'q2')], ready: first.ready }));
  await page.getByText('This question is no longer open').waitFor();
  const cards = page.getByRole('region', { name: 'Needs you' }).getByRole('article');
  expect(await cards.count()).toBe(2);
  const next = page.getByRole('region', { name: 'Next' });
  await next.getByRole('link', { name: 'N-1 one' }).hover();
  await expect.poll(() => cards.count(), { timeout: 10_000 }).toBe(1);
  await next.getByRole('link', { name: 'N-1 one' }).hover();
  const turned = [readyEntry('N-0', 'zero'), readyEntry('N-2', 'two'), readyEntry('N-1', 'one')];
  server.show(stateWith({ asking: [ask('S-2', 'q2')], ready: turned }));
  await next.getByRole('link', { name: 'N-0 zero' }).waitFor();

  expect(await next.getByRole('link').allTextContents()).toEqual(['N-1 one', 'N-2 two', 'N-0 zero']);
  await page.mouse.move(1, 1);
  await expect.poll(() => next.getByRole('link').allTextContents()).toEqual(['N-0 zero', 'N-2 two', 'N-1 one']);
});
