import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { captureOutput } from '../../../runner/contain/capture-output.js';
import type { Containment } from '../../../runner/contain/process.js';
import type { ProcessTree } from '../../../runner/contain/stop-ladder.js';
import { StopLadderClimb } from '../../../runner/contain/stop-ladder.js';
import { FakeClock } from '../../support/fake-clock.js';
import { Bench, childScript, forms, nextLine, realClock } from './workbench.js';

let bench: Bench;

beforeEach(() => {
  bench = new Bench();
});

afterEach(() => bench.close());

const quick = { eofMs: 30, termMs: 30 };

describe.each(forms)('with isolation %s', (isolation) => {
  let containment: Containment;

  beforeEach(async () => {
    containment = await bench.containment(isolation);
  });

  test('a process that ends at EOF is not signalled', async () => {
    const child = await bench.spawn(containment, 'trap "exit 9" TERM; echo ready; read -r line; exit 4');
    await nextLine(child, 'ready');

    expect(await child.stop()).toEqual({ gone: true, swept: 0 });
    expect(await child.exited).toEqual({ code: 4, signal: null });
  });

  test('a process that ignores EOF gets TERM and can clean up', async () => {
    const child = await bench.spawn(containment, 'trap "exit 9" TERM; echo ready; while :; do sleep 0.01; done');
    await nextLine(child, 'ready');

    expect(await child.stop({ eofMs: 10 })).toMatchObject({ gone: true });
    expect(await child.exited).toEqual({ code: 9, signal: null });
  });

  test('S2-69 TERM comes only after the time for EOF, KILL only after the time for TERM', async () => {
    const clock = new FakeClock();
    const child = await bench.spawnChild({ ...containment, clock }, 'says-term.sh');
    const term = nextLine(child, 'term');
    let goneAtMs: number | null = null;
    const stopping = child.stop({ eofMs: 1_000, termMs: 1_000 }).finally(() => {
      goneAtMs = clock.now().awakeMs;
    });

    clock.advance(999);
    expect(clock.pendingTimers).toBe(1);
    clock.advance(1);
    await term;
    await vi.waitFor(() => {
      clock.advance(100);
      expect(goneAtMs).toBeGreaterThanOrEqual(2_000);
    }, 5_000);

    expect(await stopping).toMatchObject({ gone: true });
    expect(await child.exited).toEqual({ code: null, signal: 'SIGKILL' });
    expect(bench.living()).toEqual([]);
  });

  test('a second stop only hurries the first one', async () => {
    const clock = new FakeClock();
    const child = await bench.spawnChild({ ...containment, clock }, 'says-term.sh');

    const patient = child.stop();
    const hurried = child.stop({ eofMs: 0, termMs: 0 });

    expect(await hurried).toMatchObject({ gone: true });
    expect(await patient).toBe(await hurried);
    expect(await child.stop()).toBe(await hurried);
  });

  test('a process that forks while it is being ended ends with its children', async () => {
    const child = await bench.spawn(containment, `setsid bash ${childScript('hopper.sh')} ${bench.nonce} & cat`);
    await nextLine(child, 'ready');

    expect(await child.stop({ eofMs: 0, termMs: 0 })).toMatchObject({ gone: true });
    expect(bench.living()).toEqual([]);
  });

  test('stop ends processes that a command leaves behind at its normal end', async () => {
    const child = await bench.spawn(containment, `bash ${childScript('holds-stdout.sh')} ${bench.nonce}`);
    await captureOutput(child, { maxBytes: 1_000, clock: realClock, drainMs: 0 });

    expect(await child.stop(quick)).toMatchObject({ gone: true });
    expect(bench.living()).toEqual([]);
  });
});

describe.runIf(forms.includes('pidns'))('in a namespace', () => {
  test('a whole family that ignores EOF and TERM, left its session and cleared its environment is gone', async () => {
    const child = await bench.spawnChild(await bench.containment('pidns'), 'stubborn.sh');
    expect(bench.living().length).toBeGreaterThanOrEqual(5);

    expect(await child.stop(quick)).toEqual({ gone: true, swept: 0 });
    expect(bench.living()).toEqual([]);
  });

  test('the end of the command ends all processes it left behind, without a stop', async () => {
    const script = `(bash ${childScript('stubborn.sh')} ${bench.nonce} &) | head -n 1`;
    const child = await bench.spawn(await bench.containment('pidns'), script);

    await child.exited;
    expect(bench.living()).toEqual([]);
  });

  test('a command that was suspended has not ended', async () => {
    const child = await bench.spawn(
      await bench.containment('pidns'),
      '(sleep 0.05; kill -CONT $$; echo on) & kill -STOP $$; exit 5',
    );

    expect(await child.exited).toEqual({ code: 5, signal: null });
  });
});

describe('without a namespace', () => {
  test('the sweep ends processes that left the group, but cannot find those that also cleared their environment', async () => {
    const child = await bench.spawnChild(await bench.containment('none'), 'stubborn.sh');

    const result = await child.stop(quick);

    expect(result).toEqual({ gone: true, swept: expect.any(Number) });
    expect(result.gone && result.swept).toBeGreaterThanOrEqual(2);
    expect(bench.living()).toHaveLength(1); // The `env -i setsid` child: what the documentation says.
  });
});

describe('a tree that outlives KILL', () => {
  test('is reported with its pids after 30 s, and again when it ends', async () => {
    const clock = new FakeClock();
    const signals: string[] = [];
    let left = [42];
    const tree: ProcessTree = {
      signal: async (name) => void signals.push(name),
      survivors: async () => left,
      swept: 0,
    };
    const stuck = { pid: 42, tree, exited: new Promise(() => {}), hasExited: () => false, closeStdin: () => {} };
    const stopping = new StopLadderClimb(stuck, clock).stop({ eofMs: 0, termMs: 0 });

    await vi.waitFor(() => expect(signals).toEqual(['SIGTERM', 'SIGKILL']));
    await vi.waitFor(() => expect(clock.pendingTimers).toBe(1));
    clock.advance(30_000);
    const result = await stopping;

    expect(result).toMatchObject({ gone: false, survivors: [42] });
    left = [];
    await (result.gone ? Promise.reject(new Error('not gone')) : result.whenGone);
  });

  test('is not reported as ended when /proc cannot be read', async () => {
    const clock = new FakeClock();
    const unreadable = () => Promise.reject(new Error('EMFILE'));
    const tree: ProcessTree = { signal: unreadable, survivors: unreadable, swept: 0 };
    const blind = { pid: 42, tree, exited: Promise.resolve(), hasExited: () => true, closeStdin: () => {} };
    const stopping = new StopLadderClimb(blind, clock).stop({ eofMs: 0, termMs: 0, killMs: 0 });

    expect(await stopping).toMatchObject({ gone: false, survivors: [42] });
  });
});
