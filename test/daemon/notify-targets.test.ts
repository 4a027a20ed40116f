import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { detectContainment } from '../../runner/contain/detect-containment.js';
import { createClock } from '../../src/clock.js';
import { runNotifyCommand } from '../../src/daemon/notify-targets.js';
import type { Config } from '../../src/domain/config.js';
import { tryDelivery } from '../../src/notify/deliver.js';
import { RingingClock } from '../notify/ringing-clock.js';
import { forms, livingWith } from '../runner/contain/workbench.js';
import { newNonce } from '../runner/executors/external/external-step.js';
import { type DeepPartial, workflow } from '../support/builders.js';

interface Shop {
  readonly dir: string;
  run(command: string, options?: { body?: string; signal?: AbortSignal }): ReturnType<typeof runNotifyCommand>;
  read(name: string): string;
}

/** A folder with a WORKFLOW.md, a home of its own, and how commands are contained here. */
async function shop(isolation: 'pidns' | 'none', config: DeepPartial<Config> = {}): Promise<Shop> {
  const dir = realpathSync(mkdtempSync(join(tmpdir(), 'baton-notify-')));
  mkdirSync(join(dir, 'home'));
  writeFileSync(join(dir, 'home', '.profile'), '');
  const clock = createClock();
  onTestFinished(() => {
    clock.close();
    rmSync(dir, { recursive: true, force: true });
  });
  const containment = await detectContainment({ isolation, hide: [], clock });
  const env = {
    PATH: process.env.PATH ?? '',
    HOME: join(dir, 'home'),
    TRACKER_TOKEN: 'canary',
    OPENAI_API_KEY: 'canary',
  };
  const place = {
    workflow: workflow({ dir, path: join(dir, 'WORKFLOW.md'), secretNames: ['TRACKER_TOKEN'], config }),
    env,
    containment,
    tmpDir: dir,
  };
  return {
    dir,
    run: (command, { body = '{"kind":"done"}', signal = new AbortController().signal } = {}) =>
      runNotifyCommand(command, body, signal, place),
    read: (name) => readFileSync(join(dir, name), 'utf8'),
  };
}

describe.each(forms)('a command (%s)', (form) => {
  test('gets the notice on its stdin, as one line, in the folder of the workflow', async () => {
    const { run, read } = await shop(form);

    const sent = await run('cat > got.json');

    expect(sent).toEqual({ ok: true, detail: 'exit code 0' });
    expect(read('got.json')).toBe('{"kind":"done"}\n');
  });

  test('sees the variables of hooks, and no secret unless hooks.env_allow names it', async () => {
    const strict = await shop(form);
    const open = await shop(form, { hooks: { envAllow: ['TRACKER_TOKEN'] } });

    await strict.run('env > env.txt');
    await open.run('env > env.txt');

    expect(strict.read('env.txt')).not.toContain('canary');
    expect(strict.read('env.txt')).toContain(`BATON_WORKFLOW_DIR=${strict.dir}`);
    expect(open.read('env.txt')).toContain('TRACKER_TOKEN=canary');
    expect(open.read('env.txt')).not.toContain('OPENAI');
  });

  test('that fails is reported with its exit code and the end of its output', async () => {
    const { run } = await shop(form);

    const sent = await run('for i in 1 2 3 4 5; do echo "line $i" >&2; done; exit 3');

    expect(sent).toMatchObject({ ok: false, code: 'exit_3', isFinal: false });
    expect(sent.detail).toBe('the command exited with code 3 and printed: line 3 | line 4 | line 5');
  });

  test('that is missing is not retried', async () => {
    const { run } = await shop(form);

    expect(await run('no-such-program-anywhere')).toMatchObject({ ok: false, code: 'exit_127', isFinal: true });
  });

  test('that does not read its stdin succeeds by its exit code, however long the notice is', async () => {
    const { run } = await shop(form);

    expect(await run('true', { body: 'x'.repeat(5_000_000) })).toMatchObject({ ok: true });
  });

  test('that prints a lot is read to the end, and little is kept', async () => {
    const { run } = await shop(form);

    const sent = await run('head -c 200000000 /dev/zero | tr "\\0" x; exit 4');

    expect(sent).toMatchObject({ code: 'exit_4' });
    expect(sent.detail.length).toBeLessThan(1_000);
  });

  test('has no processes left afterwards', async () => {
    const nonce = newNonce();
    const { run } = await shop(form);

    const sent = await run(`(trap '' TERM HUP; exec -a left-${nonce} sleep 1000) & disown; exit 0`);

    expect(sent).toMatchObject({ ok: true });
    expect(livingWith(nonce)).toEqual([]);
  });

  test('that hangs and ignores signals is ended with its whole tree at the time limit', async () => {
    const nonce = newNonce();
    const { run } = await shop(form);
    const clock = new RingingClock();
    const command = `trap '' TERM HUP INT; (exec -a child-${nonce} sleep 1000) & exec -a main-${nonce} sleep 1000`;

    const delivery = tryDelivery(
      { name: 'command', send: (body, signal) => run(command, { body, signal }) },
      '{}',
      clock,
      new AbortController().signal,
    );
    await expect.poll(() => livingWith(nonce).length, { timeout: 10_000 }).toBeGreaterThanOrEqual(2);
    for (const waitMs of [10_000, 1_000, 10_000, 5_000, 10_000]) await clock.ring(waitMs);

    expect(await delivery).toMatchObject({ result: { ok: false, code: 'timeout' }, tries: 3 });
    expect(livingWith(nonce)).toEqual([]);
  });

  test('in a missing folder is a failed delivery', async () => {
    const { run, dir } = await shop(form);
    rmSync(dir, { recursive: true });

    expect(await run('true')).toMatchObject({ ok: false });
  });
});
