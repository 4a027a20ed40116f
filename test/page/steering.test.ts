import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ask } from '../api/http-fixture.js';
import { openPage, screenshot } from './browser.js';
import { asksApproval, asksInput, hangs, pageDaemon, receivedBy } from './real-daemon.js';
import { APPROVAL, workingDay } from './sample-state.js';
import { scriptedServer } from './scripted-server.js';

test('changes are shown without a reload: an issue appears, runs, and is done', async () => {
  const daemon = await pageDaemon(hangs());
  const page = await openPage(daemon.openUrl);
  await page.getByRole('heading', { name: /No issue of the tracker is in an active state/ }).waitFor();

  daemon.tracker.put({ id: '1', identifier: 'AB-1', title: 'Paint the shed' });

  const running = page.getByRole('region', { name: 'Running' });
  await running.getByRole('link', { name: 'AB-1 Paint the shed' }).waitFor();
  await page.getByRole('heading', { level: 1, name: 'One issue is running.' }).waitFor();
  daemon.tracker.move('1', 'Done');
  await page.getByRole('region', { name: 'Done' }).getByRole('link', { name: 'AB-1 Paint the shed' }).waitFor();
  expect(await running.getByRole('link').count()).toBe(0);
});

test('the file that `baton open` hands to a browser leads to the page', async () => {
  const daemon = await pageDaemon(hangs());
  const socketPath = join(daemon.stateDir, 'socket');
  const { json } = await ask({ socketPath }, '/api/v1/page/file', { method: 'POST' });
  const page = await openPage(daemon.url);

  await page.goto(`file://${json.file}`);

  await page.getByText('Live', { exact: true }).waitFor();
  expect(page.url()).toBe(`${daemon.url}/#/`);
});

test('an approval is answered on its card, and the agent receives the answer', async () => {
  const daemon = await pageDaemon(asksApproval(), 'agent: { max_turns: 1 }');
  const page = await openPage(daemon.openUrl);

  daemon.tracker.put({ id: '1', identifier: 'AB-1', title: 'Repair the build' });

  const card = page.getByRole('article', { name: 'AB-1 asks' });
  await card.getByText('Command: rm -rf build').waitFor();
  await card.getByText('Reason: the build is broken').waitFor();
  await page.getByText(/Waits \d+ min more, then it is parked and can still be answered/).waitFor();
  expect(await page.title()).toBe('(1) Baton');
  await screenshot(page, 'real-approval');
  await card.getByRole('button', { name: 'Accept' }).click();
  await card.getByText('The agent of AB-1 has your answer.').waitFor();
  await expect.poll(() => page.title()).toBe('Baton');
  await expect.poll(() => receivedBy(daemon, 'AB-1')).toContain('"decision":"accept"');
});

test('a question is answered with a choice and with text, and drafts survive updates', async () => {
  const daemon = await pageDaemon(asksInput(), 'agent: { max_turns: 1 }');
  const page = await openPage(daemon.openUrl);
  daemon.tracker.put({ id: '1', identifier: 'AB-1' });
  const card = page.getByRole('article', { name: 'AB-1 asks' });
  await card.getByRole('textbox', { name: 'What is it called?' }).fill('the great shed');
  await card.getByRole('radio', { name: 'Something else' }).check();
  await card.getByRole('textbox', { name: 'Your own answer' }).fill('until it is old');

  daemon.tracker.put({ id: '2', identifier: 'AB-2' });
  await page.getByRole('article', { name: 'AB-2 asks' }).waitFor();
  await page.getByRole('link', { name: /^AB-1/ }).click();
  await page.getByRole('heading', { level: 1, name: /AB-1/ }).waitFor();
  await page.goBack();

  expect(await card.getByRole('textbox', { name: 'What is it called?' }).inputValue()).toBe('the great shed');
  await card.getByRole('button', { name: 'Send answer' }).click();
  await card.getByText('The agent of AB-1 has your answer.').waitFor();
  const answers = '{"keep":{"answers":["until it is old"]},"name":{"answers":["the great shed"]}}';
  await expect.poll(() => receivedBy(daemon, 'AB-1')).toContain(answers);
});

test('a parked question is answered from the page later, and its run continues', async () => {
  const daemon = await pageDaemon(asksApproval(), 'agent: { input_timeout_ms: 100 }');
  const page = await openPage(daemon.openUrl);

  daemon.tracker.put({ id: '1', identifier: 'AB-1' });

  await daemon.until('parked', (state) => state.claims['1']?.status.kind === 'parked');
  const card = page.getByRole('article', { name: 'AB-1 asks' });
  await card.getByText(/It is parked: nothing runs until you answer/).waitFor();
  await card.getByRole('button', { name: 'Decline' }).click();
  await card.getByText('AB-1 goes on with your answer, on the same thread.').waitFor();
  await daemon.until('run 2', (state) => (state.records['1']?.runs ?? 0) >= 2);
});

test('a run is stopped after a confirmation, and retried', async () => {
  const daemon = await pageDaemon(hangs());
  const page = await openPage(daemon.openUrl);
  daemon.tracker.put({ id: '1', identifier: 'AB-1', title: 'Paint the shed' });
  await daemon.until('a turn', (state) => state.claims['1']?.live.run?.session != null);

  await page.getByRole('button', { name: 'Stop AB-1' }).click();
  await page.getByText('Stop AB-1? Its processes are ended, and it stays parked until you retry it.').waitFor();
  await page.getByRole('button', { name: 'Keep it' }).click();
  expect(daemon.state.claims['1']?.live.run?.stop).toBeNull();
  await page.getByRole('button', { name: 'Stop AB-1' }).click();
  await page.getByRole('button', { name: 'Stop it' }).click();

  const parked = page.getByRole('region', { name: 'Parked' });
  await parked.getByText('stopped by a person').waitFor();
  await parked.getByRole('button', { name: 'Retry AB-1' }).click();
  await daemon.until(
    'run 2',
    (state) => state.records['1']?.runs === 2 && state.claims['1']?.live.run?.session != null,
  );
  await page.getByRole('region', { name: 'Running' }).getByText('run 2, retries').waitFor();
});

test('a pause starts no runs and shows a notice; resuming starts them', async () => {
  const daemon = await pageDaemon(hangs());
  const page = await openPage(daemon.openUrl);
  await page.getByRole('button', { name: 'Pause' }).click();
  const notices = page.getByRole('region', { name: 'Notices' });
  await notices.getByText('Paused').waitFor();

  daemon.tracker.put({ id: '1', identifier: 'AB-1' });

  await page.getByRole('heading', { level: 1, name: /^Paused since/ }).waitFor();
  await page.getByRole('region', { name: 'Next' }).getByRole('link', { name: /AB-1/ }).waitFor();
  await notices.getByRole('button', { name: 'Resume' }).click();
  await page.getByRole('region', { name: 'Running' }).getByRole('link', { name: /AB-1/ }).waitFor();
  expect(await notices.count()).toBe(0);
});

test('a message is sent to a running agent, and the timeline shows it live', async () => {
  const daemon = await pageDaemon(hangs());
  daemon.tracker.put({ id: '1', identifier: 'AB-1', title: 'Paint the shed' });
  await daemon.until('a turn', (state) => state.claims['1']?.live.run?.session != null);
  const page = await openPage(daemon.openUrl);
  await page.getByRole('link', { name: /^AB-1/ }).click();

  await page.getByRole('textbox', { name: 'Message to the agent of AB-1' }).fill('use the green paint');
  await page.getByRole('button', { name: 'Send message' }).click();

  await page.getByText('The agent of AB-1 receives the message.').waitFor();
  await page
    .getByRole('region', { name: 'What happened' })
    .getByText(/a person sent a message: use the green paint/)
    .waitFor();
  await page.getByText('found in the tracker').waitFor();
  expect(await receivedBy(daemon, 'AB-1')).toContain('use the green paint');
});

test('Refresh polls the tracker', async () => {
  const daemon = await pageDaemon(hangs());
  const page = await openPage(daemon.openUrl);

  await page.getByRole('button', { name: 'Refresh: read the tracker now' }).click();

  await page.getByText(/The tracker is being read|A poll was already running/).waitFor();
});

test('SEC-36 a question that was cut is shown and can only be declined', async () => {
  const state = workingDay();
  const [entry] = state.asking;
  if (!entry) throw new Error('nothing asks');
  const cut = { ...APPROVAL, id: 'cut', text: 'Command: rm -rf build && [cut]', is_cut: true as const };
  const server = await scriptedServer({ ...state, asking: [{ ...entry, questions: [cut] }], parked: [] });

  const page = await openPage(server.openUrl);

  const card = page.getByRole('article', { name: `${entry.issue_identifier} asks` });
  await card.getByText('Command: rm -rf build && [cut]').waitFor();
  await card.getByText(/You can only decline it/).waitFor();
  expect(await card.getByRole('button').allTextContents()).toEqual(['Decline']);
});
