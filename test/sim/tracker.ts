import { BatonError } from '../../src/domain/errors.js';
import type { Issue } from '../../src/domain/issue.js';
import { includesState } from '../../src/domain/issue.js';
import type { IssueBatch, RateLimit, Tracker } from '../../src/domain/ports.js';
import type { Life } from './life.js';
import type { World } from './world.js';

export type TrackerPort = Pick<Tracker, 'issuesByStates' | 'issuesByIds'>;

/** After this time the caller has given up; a list of many pages may take longer. */
const READ_LIMIT_MS = 60_000;
const LIST_LIMIT_MS = 300_000;

/** One request: its timeout, and the callback for a rejection. */
interface Asked {
  readonly limitMs: number;
  refused(resetAtMs: number): void;
}

/** A tracker that is flaky, slow or lying, depending on the seed. */
export function simTracker(world: World, life: Life): TrackerPort {
  const { random, coverage, board, laws, time } = world;
  return {
    issuesByStates(states) {
      const look = (issues: ReadonlyMap<string, Issue>): IssueBatch => ({
        issues: [...issues.values()].filter((issue) => includesState(states, issue.state)),
        unknown: [],
        ...limitTold(world),
      });
      const askedMs = time.nowMs;
      const seq = laws.limits.pollSeq;
      const refused = (resetAtMs: number) => laws.limits.refused(seq, resetAtMs);
      return answer(world, life, look, { limitMs: LIST_LIMIT_MS, refused }).then((batch) => {
        if (time.nowMs - askedMs < LIST_LIMIT_MS) laws.words.listed(batch);
        return batch;
      });
    },
    issuesByIds(ids) {
      const askedMs = time.nowMs;
      const look = (issues: ReadonlyMap<string, Issue>): IssueBatch => {
        const unknown = ids.filter(() => world.moods.tracker === 'vague' && random.chance(0.4));
        if (unknown.length > 0) coverage.mark('tracker: id unknown');
        const hidden = ids.filter(
          (id) => world.moods.tracker === 'split' && board.issues.has(id) && random.chance(0.15),
        );
        if (hidden.length > 0) coverage.mark('tracker: candidate that a refresh does not know');
        const isShown = (id: string) => !unknown.includes(id) && !hidden.includes(id);
        return { issues: ids.flatMap((id) => (isShown(id) ? (issues.get(id) ?? []) : [])), unknown };
      };
      const refused = (resetAtMs: number) => laws.limits.refused(laws.words.seqOf(ids), resetAtMs);
      return answer(world, life, look, { limitMs: READ_LIMIT_MS, refused }).then((batch) => {
        if (time.nowMs - askedMs < READ_LIMIT_MS) laws.words.told(ids, batch);
        return batch;
      });
    },
  };
}

/** Fails, or reads the board now or later, and answers still later. */
function answer(
  world: World,
  life: Life,
  look: (issues: ReadonlyMap<string, Issue>) => IssueBatch,
  { limitMs, refused }: Asked,
): Promise<IssueBatch> {
  const { random, coverage, time, board, moods } = world;
  if (random.chance(0.6)) {
    const trouble = troubleOf(world);
    if (trouble) {
      return later(world, life, random.wait(1, 5_000), () => {
        if (typeof trouble.details.resetAtMs === 'number') refused(trouble.details.resetAtMs);
        return Promise.reject(trouble);
      });
    }
  }
  let delayMs = random.wait(1, 1_000);
  if (moods.tracker === 'slow') {
    const isTooLate = random.chance(0.3);
    coverage.mark(isTooLate ? 'tracker: answers too late' : 'tracker: slow');
    delayMs = isTooLate ? limitMs + random.int(1, 30_000) : random.int(2_000, 59_000);
  }
  if (random.chance(0.5)) return later(world, life, delayMs, () => Promise.resolve(look(board.issues)));
  // The answer shows the board at the time of the request.
  const then = new Map(board.issues);
  const askedMs = time.nowMs;
  const batch = look(then);
  return later(world, life, delayMs, () => {
    if (time.nowMs > askedMs && [...board.issues].some(([id, issue]) => then.get(id) !== issue)) {
      coverage.mark('tracker: old news');
    }
    return Promise.resolve(batch);
  });
}

/** The tracker's error answer, for the daemon and for its runs. */
export function troubleOf({ moods, coverage, time, random }: World): BatonError | null {
  switch (moods.tracker) {
    case 'down':
      coverage.mark('tracker: request fails');
      return new BatonError('tracker_request', 'connection refused');
    case 'locked':
      coverage.mark('tracker: refuses the login');
      return new BatonError('tracker_auth', 'the token is not valid');
    case 'limited': {
      coverage.mark('tracker: rate limit reached');
      const isOver = random.chance(0.3);
      if (isOver) coverage.mark('tracker: names a reset that is over');
      const resetAtMs = time.wallMs + (isOver ? -random.int(0, 60_000) : random.int(1_000, 120_000));
      return new BatonError('tracker_rate_limited', 'too many requests', { resetAtMs });
    }
    default:
      return null;
  }
}

function limitTold({ moods, random, coverage, time }: World): { rateLimit?: RateLimit } {
  if (moods.tracker !== 'limited') return {};
  coverage.mark('tracker: rate limit told');
  const cost = random.chance(0.5) ? { cost: random.int(0, 10) } : {};
  return { rateLimit: { remaining: random.int(0, 40), resetAtMs: time.wallMs + random.int(1_000, 300_000), ...cost } };
}

function later<T>(world: World, life: Life, delayMs: number, tell: () => Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    world.time.after(delayMs, () => {
      if (life.isDead) return;
      world.stirred();
      tell().then(resolve, reject);
    });
  });
}
