import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { startPruning } from '../../src/daemon/prune.js';
import { createLogger } from '../../src/logging/logger.js';
import { createRedactor } from '../../src/logging/redact.js';
import { tempFolder } from '../runner/workspace/temp-folder.js';
import { LogMonitor } from '../support/event-monitor.js';
import { FakeClock } from '../support/fake-clock.js';
import { createMemoryStore } from '../support/memory-store.js';

async function setUp(keepDays: number | null) {
  const transcripts = join(await tempFolder(), 'transcripts');
  mkdirSync(transcripts);
  for (let run = 0; run < 510; run++) writeFileSync(join(transcripts, `r${run}.jsonl`), '');
  const asked: number[] = [];
  const store = { ...createMemoryStore(), prune: async ({ days }: { days: number }) => void asked.push(days) };
  const records = new LogMonitor();
  const log = createLogger({ level: 'info', redactor: createRedactor(), stream: records.stream, pretty: false });
  const clock = new FakeClock();
  const pruning = startPruning({ store, transcripts, clock, log, keepDays: () => keepDays, liveRunIds: () => ['r0'] });
  const count = () => readdirSync(transcripts).length;
  return { pruning, clock, asked, count, transcripts, store };
}

test('records are pruned at the start and every day, with the setting of that day', async () => {
  const { clock, asked } = await setUp(400);

  clock.advance(2 * 86_400_000);

  expect(asked).toEqual([400, 400, 400]);
});

test('nothing is pruned that is to be kept for ever', async () => {
  const { clock, asked } = await setUp(null);

  clock.advance(86_400_000);

  expect(asked).toEqual([]);
});

test('transcripts stay below their limit however long the daemon lives, and those of living runs stay', async () => {
  const { pruning, count, transcripts } = await setUp(null);
  await vi.waitFor(() => expect(count()).toBe(501));
  for (let run = 600; run < 700; run++) writeFileSync(join(transcripts, `r${run}.jsonl`), '');

  for (let run = 0; run < 50; run++) pruning.runEnded();

  await vi.waitFor(() => expect(count()).toBe(501));
  expect(readdirSync(transcripts)).toContain('r0.jsonl');
});
