import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { livingWith } from '../support/installed-daemon.js';
import { startServices } from '../support/services.js';
import { agentCommand, type TestDaemon, testDaemon, workflowText } from '../support/test-daemon.js';

const newMark = () => String(Math.floor(Math.random() * 1e9)).padStart(9, '0');

/** Stops the run of the issue. Resolves with the processes that are alive when its end is reported. */
async function stop(daemon: TestDaemon, mark: string): Promise<readonly string[]> {
  let left: readonly string[] = ['never asked'];
  const exited = daemon.until('the end of the run', (_, event) => {
    if (event?.type === 'run_exited') left = livingWith(mark);
    return event?.type === 'run_exited';
  });
  daemon.dispatch({ type: 'stop_requested', issueId: '1' });
  await exited;
  return left;
}

const stepsIn = (daemon: TestDaemon, msg: string) =>
  daemon.logLines.filter((line) => line.msg === msg).map(({ step }) => step);

describe('stopping a run with steps', () => {
  test('ends steps of four kinds at once, reports the end after their last process, and starts no other step', async () => {
    const mark = newMark();
    const services = await startServices();
    const daemon = await testDaemon({
      env: { RUNNER_TOKEN: 'canary-token-12345' },
      async before(dir) {
        const skill = join(dir, '.baton/capabilities/skill/nap');
        await mkdir(skill, { recursive: true });
        await writeFile(join(skill, 'capability.yaml'), 'name: nap\ntype: skill\n');
        await writeFile(join(skill, 'run.sh'), `exec sleep 4002.${mark}\n`);
      },
      settings: `
codex: { command: "${agentCommand('hangs', mark)}" }
services: { defaults: { tenant: t, token: $RUNNER_TOKEN }, tools: { base_url: "${services.url}" } }
executors: { nap: { command: sh, args: [-c, 'cat > /dev/null; sleep 4000.${mark} & exec sleep 4001.${mark}'] } }
steps:
  - id: all
    parallel:
      - { id: work, kind: agent }
      - { id: program, kind: external, executor: nap, timeout_s: 500 }
      - { id: skill, kind: capability, type: skill, name: nap, timeout_s: 500 }
      - { id: tool, kind: tool, tool: slow, timeout_s: 500, retry: { max_attempts: 3 } }
  - { id: after, kind: external, executor: nap }`,
    });
    daemon.tracker.put({ id: '1', identifier: 'AB-1' });
    const naps = () => livingWith(`.${mark}`).filter((line) => /^\d+ sleep 400/.test(line)).length;
    await expect.poll(naps, { timeout: 15_000 }).toBe(3);
    await expect.poll(() => services.calls.map(({ path }) => path)).toContain('/v1/tools/slow/invoke');
    await daemon.until('a turn', (state) => state.claims['1']?.live.run?.session?.turn === 1);

    expect(await stop(daemon, mark)).toEqual([]);

    expect(stepsIn(daemon, 'step did not finish well').sort()).toEqual(['all', 'program', 'skill', 'tool', 'work']);
    expect(stepsIn(daemon, 'step started')).not.toContain('after');
    expect(daemon.state.claims['1']?.status).toMatchObject({ kind: 'parked', reason: 'stopped_by_operator' });
    expect(daemon.logLines).not.toContainEqual(expect.objectContaining({ msg: expect.stringContaining('were found') }));
  });

  test('ends a hundred workers without a Node.js warning about listeners', async () => {
    const mark = newMark();
    const warnings: Error[] = [];
    const hear = (warning: Error) => void warnings.push(warning);
    process.on('warning', hear);
    const items = Array.from({ length: 100 }, (_, index) => index).join();
    const daemon = await testDaemon({
      settings: `
executors: { nap: { command: sh, args: [-c, 'cat > /dev/null; exec sleep 4001.${mark}'] } }
steps:
  - id: each
    fan_out: { items: [${items}], max_workers: 100, steps: [{ id: one, kind: external, executor: nap, timeout_s: 500 }] }
    fan_in: {}`,
    });
    daemon.tracker.put({ id: '1', identifier: 'AB-1' });
    const naps = () => livingWith(`.${mark}`).filter((line) => /^\d+ sleep/.test(line)).length;
    await expect.poll(naps, { timeout: 20_000 }).toBe(100);

    expect(await stop(daemon, mark)).toEqual([]);

    process.off('warning', hear);
    expect(warnings).toEqual([]);
  });
});

test('a run keeps its steps; the next run uses the new ones', async () => {
  const settings = (second: string) => `
executors: { note: { command: sh, args: [-c, 'cat > /dev/null; echo $ORBIT_ACTIVITY_ID >> ../../order; until [ -e ../../go ]; do sleep 0.05; done'] } }
steps: [{ id: first, kind: external, executor: note }, { id: ${second}, kind: external, executor: note }]`;
  const daemon = await testDaemon({ settings: settings('old'), allowChanges: true });
  daemon.tracker.put({ id: '1', identifier: 'AB-1' });
  const order = () => readFile(join(daemon.dir, 'order'), 'utf8').catch(() => '');
  await expect.poll(order, { timeout: 10_000 }).toBe('first\n');

  await writeFile(daemon.workflowPath, workflowText({ settings: settings('new') }));
  await daemon.until('the new settings', (_, event) => event?.type === 'config_changed');
  await writeFile(join(daemon.dir, 'go'), '');

  await expect.poll(order, { timeout: 10_000 }).toBe('first\nold\nfirst\nnew\n');
});
