import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Evidence, judge } from './judge.mjs';

const chaos = (name: string) => import(new URL(`${name}.mjs`, import.meta.url).href);
const { install } = await chaos('installation');
const { planFor } = await chaos('plan');
const { runTrial } = await chaos('trial');
const { World } = await chaos('world');

const SEED = 1;
let installation: ReturnType<typeof install>;

beforeAll(() => {
  installation = install();
}, 60_000);

afterAll(() => installation.remove(), 60_000);

/** The built daemon is killed there in its first life; the second one works everything off. */
async function killedAt(at: string): Promise<Evidence> {
  const point = {
    name: at,
    plan: () => ({ ...{ uid: null, issues: 2, concurrency: 1, extraKills: 0, withGit: false }, failures: {} }),
    async strike(trial: { start(options: object): object; ended(life: object): Promise<void> }) {
      await trial.ended(trial.start({ kill: { at, nth: 1 } }));
    },
  };
  const world = new World(installation, planFor(point, SEED));
  try {
    return await runTrial(world, point, SEED);
  } finally {
    world.remove();
  }
}

test.each([
  ['before', 'claim_unstored', []],
  ['after', 'claim_stored', ['TASK-1']],
])(
  'a daemon killed right %s the commit of a claim has started no process for it, and the next one starts one',
  async (_, at, claimed) => {
    const evidence = await killedAt(at);

    const [killed, next] = evidence.lives;
    const agents = evidence.marks.filter(({ what, where }) => what === 'begin' && where === 'agent');
    expect(judge(evidence)).toEqual([]);
    expect(killed).toMatchObject({ wasKilled: true, exit: { signal: 'SIGKILL' } });
    expect(Object.keys(killed?.after?.store?.claims ?? {})).toEqual(claimed);
    expect(killed?.lines.filter(({ msg }) => msg === 'run started')).toEqual([]);
    expect(evidence.marks.filter(({ atMs }) => atMs < (next?.startedAtMs ?? 0))).toEqual([]);
    expect(next?.leftovers).toEqual([]);
    expect(agents.map(({ issue }) => issue).sort()).toEqual(['TASK-1', 'TASK-2']);
    expect(evidence.end.store?.records['TASK-1']?.runs).toBe(1 + claimed.length);
  },
  60_000,
);
