import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { detectContainment } from '../../runner/contain/detect-containment.js';
import { createClock } from '../../src/clock.js';
import { type Notify, startNotify } from '../../src/daemon/notify.js';
import type { NotifyConfig } from '../../src/domain/config.js';
import type { Question } from '../../src/domain/run-signal.js';
import { createLogger } from '../../src/logging/logger.js';
import { createRedactor } from '../../src/logging/redact.js';
import { receiver } from '../notify/receiver.js';
import { RingingClock } from '../notify/ringing-clock.js';
import { workflow } from '../support/builders.js';
import { Core } from '../support/core.js';

const LOOK_MS = 250;
const question: Question = { id: 'q', kind: 'approval', text: 'May I canary-secret?', fields: [] };

interface Desk {
  readonly clock: RingingClock;
  readonly notify: Notify;
  readonly core: Core;
  readonly lines: { readonly [key: string]: unknown }[];
  readonly dir: string;
  settings: NotifyConfig;
  /** What the core does, told as a daemon tells it: every state with the one before. */
  act(what: (core: Core) => unknown): void;
}

async function desk(settings: Partial<NotifyConfig>, env: NodeJS.ProcessEnv = {}): Promise<Desk> {
  const dir = mkdtempSync(join(tmpdir(), 'baton-notify-'));
  const processClock = createClock();
  onTestFinished(() => {
    processClock.close();
    rmSync(dir, { recursive: true, force: true });
  });
  const clock = new RingingClock();
  const redactor = createRedactor(['canary-secret']);
  const lines: { [key: string]: unknown }[] = [];
  const stream = { write: (line: string) => lines.push(JSON.parse(line)) };
  const core = new Core().put('A', 'B');
  core.poll();
  const on = ['asking', 'parked', 'hold', 'done'] as const;
  const made: Desk = {
    clock,
    core,
    lines,
    dir,
    settings: { url: null, command: null, on, reportAt: '09:00', ...settings },
    notify: startNotify({
      clock,
      log: createLogger({ level: 'debug', redactor, stream, pretty: false }),
      redactor,
      env: { PATH: process.env.PATH, HOME: dir, ...env },
      version: '1.2.3',
      containment: await detectContainment({ isolation: 'none', hide: [], clock: processClock }),
      stateDir: dir,
      tmpDir: dir,
      workflow: () => workflow({ dir, path: join(dir, 'WORKFLOW.md'), config: { notify: made.settings } }),
      page: (identifier) => `http://127.0.0.1:1/#${identifier}`,
      createDailyReport: () => Promise.resolve({ text: 'nothing', report: {} }),
    }),
    act: (what) => {
      const before = core.state;
      what(core);
      made.notify.decided(before, core.state);
    },
  };
  return made;
}

test('wanted notices are posted, masked, with a link', async () => {
  const hook = await receiver(200);
  const { act, clock, notify } = await desk({ url: hook.url, on: ['asking'] });

  act((core) => core.signal('A', { type: 'asked', question }));
  act((core) => core.fail('B', 'agent_unauthorized'));
  await clock.ring(LOOK_MS);
  await hook.until(1);
  await notify.close();

  expect(hook.received.map(({ json }) => json.kind)).toEqual(['asking']);
  expect(hook.received[0]?.json).toMatchObject({ url: 'http://127.0.0.1:1/#A', issue: { identifier: 'A' }, missed: 0 });
  expect(hook.received[0]?.json.text).toContain('> May I ***?');
  expect(hook.received[0]?.headers['user-agent']).toBe('baton/1.2.3');
});

test('a change that is undone between two comparisons is no notice, and a thousand states cost one comparison', async () => {
  const hook = await receiver(200);
  const { act, clock, notify } = await desk({ url: hook.url });

  act((core) => core.signal('A', { type: 'asked', question }));
  for (let index = 0; index < 1_000; index++)
    act((core) => core.signal('B', { type: 'progress', openItems: index % 2 }));
  act((core) => core.signal('A', { type: 'question_closed', questionId: 'q' }));
  const looks = clock.delays.filter((delay) => delay === LOOK_MS);
  await clock.ring(LOOK_MS);
  await notify.close();

  expect(looks).toHaveLength(1);
  expect(hook.received).toEqual([]);
});

test('without a target nothing is compared, and earlier changes are not sent later', async () => {
  const hook = await receiver(200);
  const made = await desk({});

  made.act((core) => core.signal('A', { type: 'asked', question }));
  expect(made.clock.delays).not.toContain(LOOK_MS);
  made.settings = { ...made.settings, url: hook.url };
  made.act((core) => core.signal('B', { type: 'asked', question: { ...question, id: 'q2' } }));
  await made.clock.ring(LOOK_MS);
  await hook.until(1);
  await made.notify.close();

  expect(hook.received.map(({ json }) => json.issue.identifier)).toEqual(['B']);
});

test('both targets get the notice, and a failing one is logged once, without its address', async () => {
  const hook = await receiver(404);
  const { act, clock, notify, lines, dir } = await desk({ url: '$HOOK', command: 'cat >> got' }, { HOOK: hook.url });

  act((core) => core.signal('A', { type: 'asked', question }));
  await clock.ring(LOOK_MS);
  await hook.until(1);
  await expect.poll(() => lines.length).toBe(1);
  await expect.poll(() => readFileSync(join(dir, 'got'), 'utf8'), { timeout: 10_000 }).toContain('\n');
  await notify.close();

  expect(lines).toMatchObject([
    { level: 'warn', msg: 'notice could not be delivered', target: 'url', code: 'http_404', tries: 1, missed: 1 },
  ]);
  expect(JSON.parse(readFileSync(join(dir, 'got'), 'utf8'))).toMatchObject({ kind: 'asking' });
  expect(JSON.stringify(lines)).not.toMatch(/127\.0\.0\.1|hook|canary/);
});

test('an unset variable is reported by its name', async () => {
  const { act, clock, notify, lines } = await desk({ url: '$NO_SUCH_HOOK' });

  act((core) => core.signal('A', { type: 'asked', question }));
  await clock.ring(LOOK_MS);
  await expect.poll(() => lines.length).toBe(1);
  await notify.close();

  expect(lines).toMatchObject([{ code: 'variable_unset', detail: 'notify.url is $NO_SUCH_HOOK, which is not set' }]);
});

test('closing sends changes that were not compared yet, and what was held back', async () => {
  const hook = await receiver(200);
  const { act, clock, notify } = await desk({ url: hook.url });
  act((core) => core.fail('A', 'turn_input_required', { question }));
  await clock.ring(LOOK_MS);
  await hook.until(1);
  act((core) => {
    core.send({ type: 'retry_requested', issueId: 'A' });
    core.poll();
    core.answerReads();
  });
  await clock.ring(LOOK_MS);
  act((core) => core.fail('A', 'turn_input_required', { question }));
  await clock.ring(LOOK_MS);
  act((core) => core.signal('B', { type: 'asked', question: { ...question, id: 'q2' } }));

  await notify.close();

  expect(hook.received.map(({ json }) => [json.kind, json.issue.identifier, json.repeated])).toEqual([
    ['parked', 'A', 0],
    ['asking', 'B', 0],
    ['parked', 'A', 1],
  ]);
});
