import { afterAll, describe, expect, test } from 'vitest';
import { hunt, playBatch } from './batch.js';
import { LAWS } from './laws.js';
import { PLANTED } from './planted.js';
import { tellBreach } from './report.js';
import { simulate } from './simulate.js';

const MOST_RUNS = 20_000;

describe('the simulation', () => {
  test('plays the same history from the same seed, and another one from another', async () => {
    const [one, again, other] = [await simulate(7), await simulate(7), await simulate(8)];

    expect(again.hash).toBe(one.hash);
    expect(other.hash).not.toBe(one.hash);
  });

  test('a thousand issue runs keep every law; `npm run test:sim` plays twenty thousand', async () => {
    const { failures, unlike, runs } = await playBatch({ fromSeed: 1, stride: 1, runs: 1_000 });

    expect(failures.map((report) => tellBreach(report))).toEqual([]);
    expect(unlike).toEqual([]);
    expect(runs).toBeGreaterThanOrEqual(1_000);
  });
});

describe('a planted bug', () => {
  const caughtBy = new Map<string, string>();
  afterAll(() => console.log([...caughtBy].map(([name, how]) => `  ${how}  ${name}`).join('\n')));

  test.each(PLANTED)(`is caught within ${MOST_RUNS} runs: $name`, async ({ name, plant }) => {
    const found = await hunt(plant, MOST_RUNS);

    const breach = found?.report.breach;
    expect(breach).toBeDefined();
    caughtBy.set(name, `${String(found?.runs).padStart(6)} runs  ${(breach?.law ?? '').padEnd(24)}`);
  });

  test('of some kind is caught by every law: one that nothing can break would prove nothing', () => {
    const laws = new Set([...caughtBy.values()].map((how) => how.trim().split(/\s+/).at(-1)));

    expect(Object.keys(LAWS).filter((law) => !laws.has(law))).toEqual([]);
  });

  test('is told with the law that it breaks, the end of the history, and one line that plays it again', async () => {
    const planted = PLANTED.find(({ name }) => name === 'one slot too many');
    const found = await hunt(planted?.plant ?? {}, MOST_RUNS);
    if (!found) throw new Error('it was not caught');
    const seed = found.report.seed;

    const told = tellBreach(found.report, 'one slot too many');
    const again = await simulate(seed, planted?.plant);

    expect(told).toContain('breaks the law capacity: no start goes over the limits');
    expect(told).toContain(`npm run test:sim -- --seed ${seed} --plant 'one slot too many'`);
    expect(again).toEqual(found.report);
  });
});
