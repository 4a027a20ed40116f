import { expect, test } from 'vitest';
import { agent, start } from './harness.js';

test('a message that the agent has confirmed is heard', async () => {
  const started = start({ command: agent('hangs', 'on') });
  await started.event('notification', 'fake/ready');

  started.steer('mind the gap');
  await started.event('notification', 'fake/steered');
  started.stop('shutdown');
  await started.done;

  expect(started.unheard()).toEqual([]);
});

test('a message that the agent has not confirmed when it is ended is not heard', async () => {
  const started = start({ command: agent('late') });
  await started.event('notification', 'fake/ready');

  started.steer('mind the gap');
  await expect.poll(() => started.received().map(({ method }) => method)).toContain('turn/steer');
  started.stop('shutdown');
  await started.done;

  expect(started.unheard()).toEqual(['mind the gap']);
});

test('a message that came with a turn which never began is not heard', async () => {
  const started = start({ command: agent('refuses', 'turn/start') });
  started.steer('mind the gap');

  const outcome = await started.done;

  expect(outcome.state).toBe('failed');
  expect(started.unheard()).toEqual(['mind the gap']);
});

test('a message from before the agent began comes with its first prompt, and is heard', async () => {
  const started = start({ command: agent('obedient') });
  started.steer('mind the gap');

  await started.done;

  const first = started.received().find(({ method }) => method === 'turn/start');
  expect(JSON.stringify(first)).toContain('the whole prompt\\n\\nA message from a person:\\nmind the gap');
  expect(started.unheard()).toEqual([]);
});
