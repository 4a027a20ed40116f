import { expect, test } from 'vitest';
import { trackerFindings } from '../../../src/cli/check/tracker-findings.js';
import { FakeClock } from '../../support/fake-clock.js';
import { startFakeGithub } from '../../support/trackers/fake-github.js';
import { contextFor } from './tracker-context.js';

const LIMIT_MS = 15_000;
const LIST_LIMIT_MS = 60_000;

test('a tracker that does not answer is reported after a timeout', async () => {
  const fake = await startFakeGithub();
  fake.server.fault = () => 'hang';
  const clock = new FakeClock();

  const finding = trackerFindings(await contextFor(fake, { clock }));
  await expect.poll(() => fake.server.requests.length).toBe(1);
  clock.advance(LIMIT_MS);
  const { findings, active } = await finding;

  expect(active).toBeNull();
  expect(findings).toMatchObject([
    { level: 'error', code: 'tracker_request', line: 3, message: 'the tracker did not answer within 15 s' },
  ]);
});

test('findings from before a list timeout are reported too, and the timeout is not an error of the workflow', async () => {
  const fake = await startFakeGithub();
  fake.server.fault = ({ url }) => (url.pathname.endsWith('/issues') ? 'hang' : null);
  const clock = new FakeClock();

  const finding = trackerFindings(await contextFor(fake, { clock }));
  await expect.poll(() => fake.server.requests.some(({ url }) => url.pathname.endsWith('/issues'))).toBe(true);
  clock.advance(LIST_LIMIT_MS);
  const { findings, active } = await finding;

  expect(active).toBeNull();
  expect(findings.map(({ code }) => code)).toEqual(['tracker_access', 'tracker_warning', 'tracker_slow']);
  expect(findings.at(-1)).toMatchObject({ level: 'warning' });
});
