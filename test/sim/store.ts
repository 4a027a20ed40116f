import type { DurableChange } from '../../src/domain/durable.js';
import { BatonError } from '../../src/domain/errors.js';
import type { Store } from '../../src/domain/ports.js';
import type { Life } from './life.js';
import type { World } from './world.js';

const NEVER = new Promise<never>(() => {});

/** The store of one life: a write is on disk or not, even when the daemon that ordered it dies. */
export function simStore(world: World, life: Life): Store {
  const { disk, random, time } = world;

  const apply = (changes: readonly DurableChange[]) => changes.forEach((change) => void disk.apply(change));

  const write = (...changes: readonly DurableChange[]): Promise<void> => {
    if (life.isDead || life.reaches('write ordered')) return NEVER;
    if (world.moods.store === 'full') {
      world.coverage.mark('store: disk full');
      if (random.chance(0.15)) {
        world.coverage.mark('store: write fails, but is there');
        apply(changes);
      }
      return Promise.reject(new BatonError('store_failed', 'no space left on device'));
    }
    if (world.moods.store === 'slow' && random.chance(0.7)) return writeSlowly(changes);
    apply(changes);
    return life.reaches('write done') ? NEVER : Promise.resolve();
  };

  const writeSlowly = (changes: readonly DurableChange[]): Promise<void> => {
    world.coverage.mark('store: slow');
    const safeMs = random.wait(10, 20_000);
    const toldMs = safeMs + random.wait(0, 20_000);
    return new Promise((resolve) => {
      time.after(safeMs, () => {
        if (!life.isDead) apply(changes);
      });
      time.after(toldMs, () => {
        if (life.isDead) return;
        world.stirred();
        resolve();
      });
    });
  };

  return {
    load: async () => disk.load(),
    write,
    useTracker: async () => 0,
    formerOwners: { all: async () => [], clear: async () => {} },
    // The runner itself knows which runs need an after_run, see Disk.owing.
    openRuns: { all: async () => [], put: async () => {}, remove: async () => {} },
    allowed: { get: async () => null, put: async () => {} },
    past: { runs: async () => [], finished: async () => [], days: async () => [], events: async () => [] },
    addEvent: () => {},
    prune: async () => {},
    close: async () => {},
  };
}
