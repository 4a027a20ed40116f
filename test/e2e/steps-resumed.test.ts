import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createMemoryStore } from '../support/memory-store.js';
import { MemoryTracker } from '../support/memory-tracker.js';
import { agentCommand, type TestDaemon, testDaemon } from '../support/test-daemon.js';

/** Two agent steps; the second one hangs until it is stopped. */
const settings = (second: 'hangs' | 'obedient') => `
codex: { command: 'if [ "$(cat step)" = b ]; then exec ${agentCommand(second).replaceAll("'", '')}; fi; exec ${agentCommand('obedient').replaceAll("'", '')}' }
executors: { now: { command: sh, args: [-c, 'cat > /dev/null; echo "$STEP" > step'] } }
steps:
  - { id: first, kind: external, executor: now, env_set: { STEP: a } }
  - { id: plan, kind: agent }
  - { id: second, kind: external, executor: now, env_set: { STEP: b } }
  - { id: work, kind: agent }`;

async function sent(daemon: TestDaemon): Promise<string[]> {
  const text = await readFile(join(daemon.workspaces, 'AB-1/received.jsonl'), 'utf8');
  const calls = text.trim().split('\n');
  return calls.map((line) => JSON.parse(line).method).filter((method) => /^thread\/(start|resume)$/.test(method));
}

test('after a restart the interrupted agent resumes its thread, and the step before it starts again', async () => {
  const tracker = new MemoryTracker();
  const store = { ...createMemoryStore(), close: async () => {} }; // It outlives the daemon.
  tracker.put({ id: '1', identifier: 'AB-1' });
  const before = await testDaemon({ tracker, store, settings: settings('hangs') });
  await before.until('a turn of the second agent', (state) => {
    return state.claims['1']?.live.run?.session?.threadId.startsWith('work#') === true;
  });
  await before.stop();
  expect(before.state.claims['1']?.status).toMatchObject({ resume: { threadId: 'work#thread-1' } });

  const after = await testDaemon({ tracker, store, settings: settings('obedient') });
  await after.until('the end of the run', (_, event) => event?.type === 'run_exited');

  expect(after.state.records['1']?.threads.map(({ id }) => id)).toEqual(['plan#thread-1', 'work#thread-1']);
  expect(await sent(after)).toEqual(['thread/start', 'thread/resume']);
});
