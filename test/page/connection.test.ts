import { expect, test } from 'vitest';
import { expectAccessible } from './axe.js';
import { openPage, screenshot } from './browser.js';
import { emptyState, readyEntry, runningEntry, stateWith, workingDay } from './sample-state.js';
import { scriptedServer, TOKEN } from './scripted-server.js';

const REFUSED = /ERR_CONNECTION_REFUSED|ERR_INCOMPLETE_CHUNKED_ENCODING|ERR_CONNECTION_RESET|ERR_EMPTY_RESPONSE/;

test('without the daemon the page stays readable and marked as old; when the daemon is back, everything is updated', async () => {
  const server = await scriptedServer(workingDay());
  const page = await openPage(server.openUrl, { allowed: REFUSED });
  await page.getByText('Live', { exact: true }).waitFor();

  await server.close();
  await page.getByText('Connection lost.').waitFor();
  await page.getByText(/What you see is how it was at \d\d:\d\d:\d\d/).waitFor();
  await page.getByText(/Trying again in \d+ s/).waitFor();
  expect(await page.getByRole('status').allTextContents()).toContain('Connection to the daemon lost.');
  expect(await page.getByRole('link', { name: /SHOP-224/ }).isVisible()).toBe(true);
  await screenshot(page, 'disconnected', { whole: false });
  await expectAccessible(page);
  server.show(stateWith({ running: [runningEntry('SHOP-300', 'Begun while nobody looked')] }));
  await server.reopen();

  await page.getByRole('link', { name: /SHOP-300/ }).waitFor();
  expect(await page.getByRole('link', { name: /SHOP-224/ }).count()).toBe(0);
  expect(await page.getByText('Connection lost.').count()).toBe(0);
  expect(await page.getByRole('status').allTextContents()).toContain('Connected again.');
});

test('the page reconnects without an action of the user', async () => {
  const server = await scriptedServer(workingDay());
  const page = await openPage(server.openUrl, { allowed: REFUSED });
  await page.getByText('Live', { exact: true }).waitFor();

  await server.close();
  await page.getByText('Connection lost.').waitFor();
  server.show(emptyState());
  await server.reopen();

  await page.getByText('No issues in an active state.').waitFor();
});

test('a stream that is cut is resumed from its last event, and nothing is sent twice', async () => {
  const asked: (string | undefined)[] = [];
  const server = await scriptedServer(stateWith({ ready: [readyEntry('A-1', 'one')] }));
  const page = await openPage(server.openUrl, { allowed: REFUSED });
  page.on('request', (request) => {
    if (request.url().includes('/events')) asked.push(request.headers()['last-event-id']);
  });
  await page.getByRole('link', { name: /A-1/ }).waitFor();

  await server.cut();
  server.show(stateWith({ ready: [readyEntry('A-1', 'one'), readyEntry('A-2', 'two')] }));

  await page.getByRole('link', { name: /A-2/ }).waitFor();
  expect(asked.at(-1)).toMatch(/^[0-9a-f]{8}-\d+$/);
});

test('the page waits for a daemon that has not started yet', async () => {
  const server = await scriptedServer(emptyState());
  // The page itself is there, and its stream is not.
  const page = await openPage(`${server.url}/assets/nothing`, { allowed: /404|ERR_CONNECTION_REFUSED/ });
  await page.route('**/api/v1/events', (route) => route.abort('connectionrefused'));
  await page.goto(server.openUrl);

  await page.getByRole('heading', { name: 'The daemon cannot be reached' }).waitFor();
  await screenshot(page, 'unreachable', { whole: false });
  await expectAccessible(page);
  const asked = page.waitForRequest('**/api/v1/events');
  await page.getByRole('button', { name: 'Try now' }).click();
  await asked;
  await page.unroute('**/api/v1/events');

  await page.getByText('No issues in an active state.').waitFor();
});

test('the token is removed from the address bar at once, and allows changes until the tab is closed', async () => {
  const server = await scriptedServer(workingDay());
  const page = await openPage(server.openUrl);

  await page.getByRole('button', { name: 'Stop SHOP-224' }).waitFor();
  expect(page.url()).toBe(`${server.url}/#/`);
  await page.reload();

  await page.getByRole('button', { name: 'Stop SHOP-224' }).waitFor();
  expect(await page.evaluate('history.length')).toBeLessThanOrEqual(2);
  expect(await page.content()).not.toContain(TOKEN);
});

test('without a token the page requests nothing, and says how to open it', async () => {
  const server = await scriptedServer(workingDay());
  const asked: string[] = [];
  const page = await openPage(`${server.url}/assets/nothing`, { allowed: /404/ });
  page.on('request', (request) => asked.push(new URL(request.url()).pathname));
  await page.goto(server.url);

  await page.getByRole('heading', { name: 'Open this page with a command' }).waitFor();
  await page.getByText('baton open').waitFor();
  await screenshot(page, 'locked', { whole: false });
  await expectAccessible(page);
  expect(asked.filter((path) => path.startsWith('/api/'))).toEqual([]);
  await page.goto(server.openUrl);

  await page.getByRole('link', { name: /SHOP-224/ }).waitFor();
});

test('SEC-35 a daemon that was started again gets no old token, and the page says what to do', async () => {
  const server = await scriptedServer(workingDay());
  const page = await openPage(server.openUrl, { allowed: REFUSED });
  await page.getByText('Live', { exact: true }).waitFor();
  const sent: string[] = [];
  await server.close();
  await page.getByText('Connection lost.').waitFor();
  page.on('request', (request) => sent.push(JSON.stringify(request.headers())));

  await server.reopen('the-token-of-the-next-daemon');

  await page.getByText('Not connected any more.').waitFor();
  await page.getByText('baton open').waitFor();
  await page.getByRole('link', { name: /SHOP-224/ }).waitFor();
  expect(sent.length).toBeGreaterThan(0);
  expect(sent.join()).not.toContain(TOKEN);
  await screenshot(page, 'started-again', { whole: false });
  await expectAccessible(page);
  await page.reload();
  await page.getByRole('heading', { name: 'Open this page again' }).waitFor();
  expect(sent.join()).not.toContain(TOKEN);
  await page.goto(`${server.url}/#token=the-token-of-the-next-daemon`);
  await page.getByText('Live', { exact: true }).waitFor();
});

test('a refused request shows its reason beside its button', async () => {
  const server = await scriptedServer(workingDay());
  const page = await openPage(server.openUrl, { allowed: /404/ });

  await page.getByRole('button', { name: 'Retry SHOP-170' }).click();

  const parked = page.getByRole('region', { name: 'Parked' });
  await parked.getByText('No issue SHOP-170 is claimed or among the candidates of the last poll.').waitFor();
  await screenshot(page, 'refused', { whole: false });
});
