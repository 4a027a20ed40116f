import { link, mkdir, mkdtemp, open, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { detectContainment } from '../../../runner/contain/detect-containment.js';
import type { RunContext } from '../../../runner/run-context.js';
import { watchDiskUse } from '../../../runner/workspace/disk-use.js';
import { createWorkspaces } from '../../../runner/workspace/workspaces.js';
import { issue, workflow } from '../../support/builders.js';
import { FakeClock } from '../../support/fake-clock.js';
import { realClock } from '../contain/workbench.js';

const MB = 1024 * 1024;
const MINUTE = 60_000;

/** Counts the waits for the next measurement. */
class WatchClock extends FakeClock {
  waits = 0;

  override after(delayMs: number, callback: () => void): () => void {
    if (delayMs === MINUTE) this.waits += 1;
    return super.after(delayMs, callback);
  }
}

/** A run in a real workspace, whose disk use is watched with a clock of the test. */
async function watched(maxMb: number | null) {
  const root = await realpath(await mkdtemp(join(tmpdir(), 'baton-disk-')));
  onTestFinished(() => rm(root, { recursive: true, force: true }));
  const workspaces = createWorkspaces({ root: join(root, 'workspaces'), scope: 'test' });
  await mkdir(join(root, 'workspaces'), { mode: 0o700 });
  const workspace = await workspaces.prepare(issue('A'));
  const tmpDir = join(root, 'tmp');
  await mkdir(tmpDir);
  const containment = await detectContainment({ isolation: 'auto', hide: [], clock: realClock });
  const clock = new WatchClock();
  const warnings: unknown[] = [];
  const run = {
    ...{ runId: 'r', workspace, tmpDir, config: workflow({ config: { workspace: { maxMb } } }).config },
    services: { clock, containment, workspaces },
    warn: (message: string, fields: object) => warnings.push({ message, ...fields }),
  } as unknown as RunContext;
  let onTooLarge = () => {};
  const tooLarge = new Promise<void>((resolve) => {
    onTooLarge = resolve;
  });
  const watch = watchDiskUse(run, onTooLarge);
  onTestFinished(() => void watch.end());
  /** Resolves when the measurement has ended and the next one waits for its time. */
  const measureOnce = async () => {
    const { waits } = clock;
    clock.advance(MINUTE);
    await expect.poll(() => clock.waits, { timeout: 10_000, interval: 10 }).toBe(waits + 1);
  };
  return { root, folder: workspace.path, tmpDir, clock, warnings, watch, tooLarge, measureOnce };
}

test('SEC-38 a workspace that takes more than workspace.max_mb ends the run, together with its TMPDIR', async () => {
  const { folder, tmpDir, clock, watch, tooLarge } = await watched(3);
  await writeFile(join(folder, 'data'), Buffer.alloc(2 * MB, 1));
  await writeFile(join(tmpDir, 'data'), Buffer.alloc(2 * MB, 1));

  clock.advance(MINUTE);
  await tooLarge;

  expect(await watch.end()).toMatchObject({ code: 'workspace_too_large', details: { usedMb: 5, maxMb: 3 } });
});

test('hard links count once, and neither links to other folders nor holes in files count', async () => {
  const { root, folder, watch, warnings, measureOnce } = await watched(3);
  await writeFile(join(root, 'elsewhere'), Buffer.alloc(5 * MB, 1));
  await symlink(root, join(folder, 'link'));
  await writeFile(join(folder, 'data'), Buffer.alloc(2 * MB, 1));
  await link(join(folder, 'data'), join(folder, 'same'));
  const sparse = await open(join(folder, 'sparse'), 'w');
  await sparse.truncate(100 * MB);
  await sparse.close();

  await measureOnce();

  expect(await watch.end()).toBe(null);
  expect(warnings).toEqual([]);
});

test('the use is measured again and again', async () => {
  const { folder, clock, watch, tooLarge, measureOnce } = await watched(3);
  await measureOnce();
  await measureOnce();
  await writeFile(join(folder, 'data'), Buffer.alloc(4 * MB, 1));

  clock.advance(MINUTE);
  await tooLarge;

  expect(await watch.end()).toMatchObject({ code: 'workspace_too_large' });
});

test('without a limit nothing is measured, and a run that ends early leaves no timer', async () => {
  const unlimited = await watched(null);
  const limited = await watched(3);

  await limited.watch.end();

  expect([unlimited.clock.pendingTimers, limited.clock.pendingTimers]).toEqual([0, 0]);
});

test('a measurement in progress ends with the run', async () => {
  const { clock, watch } = await watched(3);
  clock.advance(MINUTE);

  expect(await watch.end()).toBe(null);
  expect(clock.pendingTimers).toBe(0);
});

test('a workspace that cannot be measured is reported once, and the run goes on', async () => {
  const { folder, warnings, watch, measureOnce } = await watched(3);
  await rm(folder, { recursive: true });

  await measureOnce();
  await measureOnce();

  expect(warnings).toHaveLength(1);
  expect(await watch.end()).toBe(null);
});
