import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { answer } from '../../src/cli/answer.js';
import { change, message } from '../../src/cli/control.js';
import { explain } from '../../src/cli/explain.js';
import { logs } from '../../src/cli/logs.js';
import type { World } from './cli-fixture.js';
import { until } from './client/live-daemon.js';
import { place } from './command.js';
import {
  daemonIn,
  issue,
  person,
  project,
  received,
  told,
  untilStored,
  type WorkingDaemon,
  workflowText,
} from './working-daemon.js';

describe('a daemon at work', () => {
  const here = project('hangs', ['on'], 'agent: { max_concurrent_agents: 2 }', afterAll);
  let daemon: WorkingDaemon;
  beforeAll(async () => {
    for (const id of [1, 2, 3]) issue(here, id);
    issue(here, 4, 'Four', '[baton]', 'Done');
    daemon = await daemonIn(here);
    await Promise.all([1, 2].map((id) => daemon.said('turn began', id)));
  });

  const asked = (action: 'stop' | 'retry', name: string) =>
    told(here, (io) => change({ issue: name, action, target: {} }, io));

  test('stop of an issue that has not been started keeps it from being started', async () => {
    const stopped = await asked('stop', 'TASK-3');

    expect(stopped).toMatchObject({ code: 0, stdout: expect.stringContaining('TASK-3 will not be started until') });
    expect((await here.baton('explain', 'TASK-3')).stdout).toContain('parked as stopped_by_operator');
  });

  test('message steers the turn of a running agent, with an argument or from standard input', async () => {
    const said = await here.baton('message', 'TASK-2', 'mind', 'the gap');
    const io = person(here);
    io.stdin.end('and the\nplatform\n');
    const piped = await message({ issue: 'TASK-2', words: ['-'], target: {} }, io);
    await asked('stop', 'TASK-2');
    await daemon.said('issue parked', 2);
    const late = await told(here, (other) => message({ issue: 'TASK-2', words: ['hello?'], target: {} }, other));

    expect(said).toMatchObject({ code: 0, stdout: 'The agent of TASK-2 receives the message.\n' });
    const steers = received(here, 'TASK-2').filter(({ method }) => method === 'turn/steer');
    expect(steers.map(({ params }) => params.input[0].text)).toEqual(['mind the gap', 'and the\nplatform']);
    expect(piped).toBe(0);
    expect(late).toMatchObject({ code: 1, stderr: expect.stringMatching(/^baton: not_running: /) });
  });

  test('stop and retry end a run and start another, and print the effect', async () => {
    const stopped = await here.baton('stop', 'TASK-1');
    await daemon.said('issue parked', 1);
    const again = await asked('stop', 'task-1');
    const explained = await told(here, (io) => explain({ issue: 'TASK-1', json: false, target: {} }, io));
    const retried = await here.baton('retry', 'TASK-1', 'WORKFLOW.md');
    await daemon.line((one) => one.msg === 'run started' && one.run_number === 2);
    const running = await asked('retry', 'TASK-1');

    expect(stopped).toMatchObject({ code: 0, stderr: '' });
    expect(stopped.stdout).toBe(
      'The run of TASK-1 is being stopped; then it is parked until `baton retry TASK-1` or a change of the issue.\n',
    );
    expect(again).toMatchObject({ code: 1, stdout: '', stderr: expect.stringMatching(/^baton: already_stopped: /) });
    expect(explained.stdout).toMatch(/✗ not_parked\s+parked as stopped_by_operator: .*\n\s+→ `baton retry TASK-1`\n/);
    expect(retried).toMatchObject({ code: 0, stdout: expect.stringContaining('TASK-1 is due now') });
    expect(running).toMatchObject({ code: 1, stderr: expect.stringMatching(/^baton: already_running: /) });
  });

  test.each<[string, (name: string, io: World) => Promise<number>]>([
    ['stop', (name, io) => change({ issue: name, action: 'stop', target: {} }, io)],
    ['retry', (name, io) => change({ issue: name, action: 'retry', target: {} }, io)],
    ['message', (name, io) => message({ issue: name, words: ['x'], target: {} }, io)],
    ['answer', (name, io) => answer({ issue: name, given: ACCEPTED, question: undefined, target: {} }, io)],
    ['explain', (name, io) => explain({ issue: name, json: false, target: {} }, io)],
  ])('%s of an unknown issue suggests a similar one', async (_, command) => {
    const result = await told(here, (io) => command('TSAK-1', io));
    const other = await told(here, (io) => command('TASK-99', io));

    expect(result).toMatchObject({ code: 1, stdout: '' });
    expect(result.stderr).toMatch(/TSAK-1.*Did you mean TASK-1\?\n$/s);
    // Another number is another issue.
    expect(other).toMatchObject({ code: 1, stderr: expect.not.stringContaining('Did you mean') });
  });

  test('explain of a finished issue prints each advice once', async () => {
    const { stdout } = await told(here, (io) => explain({ issue: 'TASK-4', json: false, target: {} }, io));

    expect(stdout).toMatch(/✗ not_terminal .*\n\s+→ move it to .* in the tracker\n✗ active_state /);
    expect(stdout.match(/→ move it/g)).toHaveLength(1);
  });

  test('an issue may have the name of a flag', async () => {
    const results = [
      await here.baton('retry', '--', '-rf'),
      await here.baton('answer', '--accept', '--', '-rf'),
      await here.baton('explain', '--', '-rf'),
    ];

    expect(results.map(({ code }) => code)).toEqual([1, 1, 1]);
    for (const { stderr } of results) expect(stderr).toMatch(/no issue -rf /i);
  });

  test('an issue may have the name of a route', async () => {
    const results = await Promise.all(
      ['events', 'state', 'stats', 'page'].map((name) => told(here, (io) => logs({ ...LAST, issue: name }, io))),
    );

    for (const { code, stderr } of results) {
      expect(code).toBe(1);
      expect(stderr).toContain('is neither claimed nor among the issues of the last poll');
    }
  });
});

const ACCEPTED = { text: undefined, accept: true, decline: false, fields: [] };
const LAST = { follow: false, raw: false, all: false };

describe('baton pause and resume', () => {
  test('no run starts while paused, also after kill -9 and a restart', async () => {
    const here = project('hangs', ['on']);
    const first = await daemonIn(here);
    const paused = await here.baton('pause');
    await untilStored(here, /"pausedSinceMs": \d/);
    await first.kill();
    issue(here, 1);

    const second = await daemonIn(here);
    await second.line(({ msg, detail }) => msg === 'nothing to start' && /^Paused/.test(String(detail)));
    // On a busy machine a reading is soon too old for polls every 200 ms.
    const explained = await until('a reading is fresh', async () => {
      const { stdout } = await here.baton('explain', 'TASK-1');
      return stdout.includes('✗ reading_fresh') ? undefined : stdout;
    });
    const resumed = await here.baton('resume');
    await second.said('run started');

    expect(paused).toMatchObject({ code: 0, stderr: '' });
    expect(explained).toMatch(
      /one rule prevents it[\s\S]*✗ not_paused\s+paused since .*\n\s+→ resume with `baton resume`\n/,
    );
    expect(resumed.code).toBe(0);
    expect(second.lines.map(({ msg }) => msg)).toContain('resumed');
  });
});

test('an empty message is a usage error', async () => {
  const here = project('hangs');
  const say = (...words: string[]) => told(here, (io) => message({ issue: 'TASK-1', words, target: {} }, io));

  // Standard input is empty here.
  expect(await here.baton('message', 'TASK-1', '-')).toMatchObject({
    code: 2,
    stderr: 'baton: the message is empty\n',
  });
  expect(await say(' ')).toMatchObject({ code: 2, stderr: 'baton: the message is empty\n' });
  expect(await say('x'.repeat(20_001))).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('longer than 20000'),
  });
});

describe('without a daemon', () => {
  test.each<[string, (io: World) => Promise<number>]>([
    ['stop', (io) => change({ issue: 'TASK-1', action: 'stop', target: {} }, io)],
    ['answer', (io) => answer({ issue: undefined, given: NOTHING, question: undefined, target: {} }, io)],
    ['message', (io) => message({ issue: 'TASK-1', words: ['x'], target: {} }, io)],
    ['pause', (io) => change({ issue: null, action: 'pause', target: {} }, io)],
  ])('baton %s reports that none is running, and how to start one', async (_, command) => {
    const { code, stderr } = await told(project('hangs'), command);

    expect(code).toBe(2);
    expect(stderr).toMatch(/^baton: daemon_not_running: .*To start one: baton/);
  });
});

const NOTHING = { ...ACCEPTED, accept: false };

describe('another folder', () => {
  test('a daemon is found by its workflow or by its state directory', async () => {
    const here = place();
    here.write('flows/other.md', workflowText('false'));
    const daemon = await daemonIn(here, 'flows/other.md', '--state-dir', 'kept');

    const byBoth = await here.baton('pause', '--workflow', 'flows/other.md', '--state-dir', 'kept');
    const byState = await here.baton('resume', '--state-dir', join(here.dir, 'kept'));
    const byArgument = await here.baton('pause', 'flows/other.md', '--state-dir', 'kept');
    const byTwo = await here.baton('resume', 'flows/other.md', '--workflow', 'else.md');
    const byWorkflow = await here.baton('pause', '--workflow', 'flows/other.md');

    expect([byBoth.code, byState.code, byArgument.code]).toEqual([0, 0, 0]);
    expect(byTwo).toMatchObject({ code: 2, stderr: expect.stringContaining('name one workflow') });
    expect(byWorkflow).toMatchObject({ code: 2, stderr: expect.stringContaining('daemon_not_running') });
    expect(await daemon.stop()).toBe(0);
  });
});
