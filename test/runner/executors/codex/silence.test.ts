import { expect, test } from 'vitest';
import type { RunSignal } from '../../../../src/domain/run-signal.js';
import { Core, stops } from '../../../support/core.js';
import { agent, start } from './harness.js';

type CoreSignal = Exclude<RunSignal, { type: 'event' }>;

/** A real agent with an open item, and what the core makes of the signals of its run. */
async function runWith(item: { readonly type: string; readonly [key: string]: unknown }) {
  const notices = [['item/started', { item: { id: 'i', ...item } }]];
  const started = start({ command: agent('hangs', 'on', JSON.stringify(notices)) });
  await started.event('notification', 'fake/ready');
  const core = new Core().put('A');
  core.poll();
  core.signal('A', { type: 'phase', phase: 'agent' });
  for (const signal of started.signals) if (signal.type !== 'event') core.signal('A', signal as CoreSignal);
  started.stop('shutdown');
  await started.done;
  return core;
}

test('a long silent reasoning is not killed as a stall', async () => {
  const core = await runWith({ type: 'reasoning' });

  expect(stops(core.advance(3_000_000))).toEqual([]);
});

test('a long build is not killed as a stall', async () => {
  const core = await runWith({ type: 'commandExecution', command: 'make world' });

  expect(stops(core.advance(3_000_000))).toEqual([]);
});

test('an agent that only began to write a message and fell silent is', async () => {
  const core = await runWith({ type: 'agentMessage' });

  expect(stops(core.advance(300_000))).toEqual(['stalled']);
});
