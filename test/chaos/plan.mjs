import { hasNamespaces, isRoot, NOBODY } from './processes.mjs';
import { randomFrom } from './random.mjs';

const CHILDREN = [[], ['marked'], ['bare'], ['marked', 'bare']];
const canIsolate = new Map([null, ...(isRoot ? [NOBODY] : [])].map((uid) => [uid, hasNamespaces(uid)]));

/** Everything about a trial that is decided before it begins; the same seed, the same plan. */
export function planFor(point, seed) {
  const random = randomFrom(seed);
  const uid = isRoot && random.chance(0.35) ? NOBODY : null;
  const issues = random.pick([2, 2, 2, 3, 3, 4]);
  const base = {
    uid,
    issues,
    victim: `TASK-${random.between(1, issues)}`,
    concurrency: random.between(1, 3),
    isolation: canIsolate.get(uid) && random.chance(0.65) ? 'pidns' : 'none',
    /** The children of the killed processes: in their own sessions, `bare` ones without an environment. */
    children: random.pick(CHILDREN),
    /** Every agent starts such children in its turn, not only the victim where it is killed. */
    isBusy: false,
    extraKills: random.pick([0, 0, 0, 1, 1, 2]),
    withGit: random.chance(0.1),
    /** Issue → how many of its turns fail. */
    failures: random.chance(0.3) ? { 'TASK-1': random.between(1, 2) } : {},
    backoffMs: 300,
    stallMs: 300_000,
    asks: false,
    onInputTimeout: 'park',
  };
  return { ...base, ...point.plan?.(random, base) };
}
