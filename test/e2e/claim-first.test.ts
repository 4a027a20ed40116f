import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createMemoryStore } from '../support/memory-store.js';
import { MemoryTracker } from '../support/memory-tracker.js';
import { agentCommand, testDaemon } from '../support/test-daemon.js';

const POLLS = 5;

test('a run has no process and no workspace until its claim is stored', async () => {
  const tracker = new MemoryTracker();
  tracker.put('AB-1');
  const store = createMemoryStore();
  let commit = () => {};
  const isCommitted = new Promise<void>((resolve) => {
    commit = resolve;
  });
  const daemon = await testDaemon({
    tracker,
    store: {
      ...store,
      write: async (...changes) => {
        if (changes.some(({ claims }) => claims['AB-1'])) await isCommitted;
        return store.write(...changes);
      },
    },
    settings: `
hooks: { after_create: touch ../created }
codex: { command: "${agentCommand('obedient')}" }
agent: { max_turns: 1 }`,
  });
  const stageIs = (stage: string) => daemon.until(stage, ({ claims }) => claims['AB-1']?.live.run?.stage === stage);
  const work = ['AB-1', 'created'].map((name) => join(daemon.workspaces, name));

  await stageIs('claiming');
  for (let polls = 0; polls < POLLS; polls++) {
    const polled = daemon.until('a poll', (_, event) => event?.type === 'observed');
    daemon.dispatch({ type: 'refresh_requested' });
    await polled;
  }
  expect(work.filter((path) => existsSync(path))).toEqual([]);
  expect(daemon.logLines.filter(({ msg }) => msg === 'run started')).toEqual([]);

  commit();
  await daemon.until('the run is over', (_, event) => event?.type === 'run_exited');
  expect(daemon.logLines.filter(({ msg }) => msg === 'run started')).toHaveLength(1);
  expect(work.filter((path) => existsSync(path))).toEqual(work);
  await daemon.stop();
});
