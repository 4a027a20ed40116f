import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { handleSignals } from '../../src/cli/run.js';
import type { Daemon } from '../../src/daemon/options.js';
import { BatonError } from '../../src/domain/errors.js';
import { place } from '../cli/command.js';
import { createMemoryStore } from '../support/memory-store.js';
import { MemoryTracker } from '../support/memory-tracker.js';
import { testDaemon } from '../support/test-daemon.js';

test('a failed start closes the opened resources and leaves no folder', async () => {
  const tracker = new MemoryTracker();
  const close = vi.spyOn(tracker, 'close');
  const load = async () => {
    throw new BatonError('store_failed', 'the disk is gone');
  };
  let dir = '';
  const start = testDaemon({
    tracker,
    store: { ...createMemoryStore(), load },
    before: async (made) => {
      dir = made;
    },
  });

  await expect(start).rejects.toThrow('the disk is gone');
  expect(existsSync(readFileSync(join(dir, 'state', 'tmp-folder'), 'utf8'))).toBe(false);
  expect(close).toHaveBeenCalledOnce();
});

test('a workflow that changes during the start is used and is no fault', async () => {
  let path = '';
  const store = createMemoryStore();
  const { formerOwners } = store;
  const editing = {
    ...store,
    // Called after the workflow was read and before it is watched.
    get formerOwners() {
      const text = readFileSync(path, 'utf8');
      if (!text.includes('max_turns')) writeFileSync(path, text.replace('---\n', '---\nagent: { max_turns: 7 }\n'));
      return formerOwners;
    },
  };
  const daemon = await testDaemon({
    store: editing,
    before: async (dir) => {
      path = join(dir, 'WORKFLOW.md');
    },
  });

  expect(daemon.state.config.agent.maxTurns).toBe(7);
  expect(daemon.logLines.filter(({ level }) => level === 'error')).toEqual([]);
});

test('a signal during the start ends the daemon in order', async () => {
  const here = place();
  here.workflow();
  here.issue(1, 'Wait', 'x', 'status: Done');
  const { child, ended } = here.start('WORKFLOW.md', '--state-dir', 'state');
  await vi.waitFor(() => expect(existsSync(join(here.dir, 'state', 'baton.db'))).toBe(true), {
    timeout: 15_000,
    interval: 2,
  });

  child.kill('SIGTERM');

  expect(await ended).toMatchObject({ code: 0, stderr: expect.stringContaining('stopped') });
  expect(existsSync(here.read('state/tmp-folder'))).toBe(false);
});

test('a signal before the daemon exists is kept for it', () => {
  const known = process.listeners('SIGHUP');
  const events: unknown[] = [];
  const signals = handleSignals();
  onTestFinished(() => {
    for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) {
      const added = process.listeners(signal).at(-1);
      if (added && !known.includes(added)) process.off(signal, added);
    }
  });

  process.emit('SIGHUP', 'SIGHUP');
  signals.stop({ dispatch: (event: unknown) => events.push(event) } as unknown as Daemon);

  expect(events).toEqual([{ type: 'shutdown_requested' }]);
});
