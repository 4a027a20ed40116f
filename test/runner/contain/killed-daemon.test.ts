import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { findMarked, MarkerSweep } from '../../../runner/contain/marker-sweep.js';
import { CompiledRunner, orderFor, type User, users } from './compiled-daemon.js';
import { Bench, forms } from './workbench.js';

const AGENTS = 3;
let runner: CompiledRunner;
let bench: Bench;

beforeAll(() => {
  runner = new CompiledRunner();
});

afterAll(() => runner.close());

beforeEach(() => {
  bench = new Bench();
});

afterEach(() => bench.close());

/** A daemon with agents that ignore EOF and TERM and have children of their own, killed with -9. */
async function killDaemonOf(user: User, isolation: 'pidns' | 'none'): Promise<void> {
  const script = `exec bash ${join(runner.folder, 'stubborn.sh')} ${bench.nonce}`;
  const daemon = runner.daemon(
    user,
    orderFor(bench, user, { isolation, scripts: Array(AGENTS).fill(script), stay: true }),
  );
  let ready = 0;
  await new Promise<void>((resolve, reject) => {
    daemon.once('exit', () => reject(new Error('the daemon ended by itself')));
    createInterface({ input: daemon.stdout ?? process.stdin }).on('line', (line) => {
      if (line === 'ready') ready += 1;
      if (ready === AGENTS) resolve();
    });
  });
  expect(bench.living().length).toBeGreaterThanOrEqual(AGENTS * 5);

  daemon.kill('SIGKILL');
  await new Promise((resolve) => daemon.once('exit', resolve));
}

describe.each(users)('a daemon of %s', (user) => {
  test.runIf(forms.includes('pidns'))('that is killed with -9 leaves no process behind', async () => {
    await killDaemonOf(user, 'pidns');

    await vi.waitFor(() => expect(bench.living()).toEqual([]), 5_000);
  });

  test('without namespaces leaves its agents behind when killed with -9, and the sweep finds those with the marker', async () => {
    await killDaemonOf(user, 'none');

    const markers = Array.from({ length: AGENTS }, (_, index) => `${bench.marker}-${index}`);
    const marked = (await Promise.all(markers.map((marker) => findMarked(marker)))).flat();
    expect(marked.length).toBeGreaterThanOrEqual(AGENTS * 4);
    // Again and again: an agent whose child was ended first has started another one.
    await vi.waitFor(async () => {
      await Promise.all(markers.map((marker) => new MarkerSweep(marker).signal('SIGKILL')));
      expect(bench.living()).toHaveLength(AGENTS); // The `env -i` children: not found.
    }, 5_000);
  });
});
