import { expect, test } from 'vitest';
import { openPage, screenshot } from './browser.js';
import { ineligibleEntry, readyEntry, runningEntry, stateWith } from './sample-state.js';
import { scriptedServer } from './scripted-server.js';

const ready = Array.from({ length: 1_000 }, (_, at) => readyEntry(`N-${at}`, `issue number ${at} of a long list`));
const running = Array.from({ length: 100 }, (_, at) => runningEntry(`R-${at}`, `run number ${at}`));

test('a thousand issues and a hundred runs stay usable, with a filter and partial lists', async () => {
  const ineligible = Array.from({ length: 200 }, (_, at) =>
    ineligibleEntry(`I-${at}`, 'x', 'required_labels', 'it lacks the label "baton"'),
  );
  const server = await scriptedServer(stateWith({ ready, running, ineligible, slots: { taken: 100, limit: 100 } }));
  const page = await openPage(server.openUrl);
  const next = page.getByRole('region', { name: 'Next' });
  await next.getByRole('link', { name: /^N-49 / }).waitFor();
  await screenshot(page, 'thousand', { whole: false });

  expect(await next.getByRole('link').count()).toBe(50);
  await next.getByRole('button', { name: 'Show 50 more' }).click();
  expect(await next.getByRole('link').count()).toBe(100);
  await page.getByRole('searchbox', { name: 'Filter issues' }).fill('number 777');
  await page.getByText('1 of 1,300').waitFor();

  expect(await next.getByRole('link').allTextContents()).toEqual(['N-777 issue number 777 of a long list']);
  await page.getByRole('searchbox').fill('lacks label');
  await page.getByRole('region', { name: 'Not picked up' }).getByRole('link', { name: /^I-3 / }).waitFor();
  await page.getByRole('searchbox').fill('no such thing');
  await page.getByText('0 of 1,300').waitFor();
});

test('a hundred runs with constant updates are followed', async () => {
  const server = await scriptedServer(stateWith({ ready, running, slots: { taken: 100, limit: 100 } }));
  const page = await openPage(server.openUrl, { allowed: /404/ });
  await page.getByRole('link', { name: /^R-0 / }).waitFor();

  for (let round = 1; round <= 20; round += 1) {
    const now = running.map((entry) => ({ ...entry, last_message: `says ${round}`, turn_count: round }));
    server.show(stateWith({ ready, running: now, slots: { taken: 100, limit: 100 } }));
    await page.getByRole('region', { name: 'Running' }).getByText(`says ${round}`, { exact: true }).first().waitFor();
  }

  await page.getByRole('link', { name: /^R-0 / }).click();
  await page.goBack();
  await page.getByRole('region', { name: 'Running' }).getByText('says 20', { exact: true }).first().waitFor();
}, 90_000);
