import type { World } from './world.js';

const EFFECTS = [
  'poll',
  'read_issues',
  'persist',
  'start_run',
  'close_run',
  'stop_run',
  'answer_run',
  'remove_workspace',
  'note',
  'exit',
] as const;

const MOMENTS = [
  'reaped',
  'restored',
  'write ordered',
  'write done',
  'run started',
  'workspace recorded',
  'after_create',
  'before_run',
  'agent spawned',
  'in turn',
  'asking',
  'after_run begins',
  'after_run ended',
  'run gone, not told',
  'owed after_run begins',
  'owed after_run ended',
  'run closed, not told',
  'folder deleted',
  'owner forgotten',
] as const;

const BOUNDARIES = EFFECTS.flatMap((type) => [`before ${type}`, `after ${type}`]);
const POINTS: readonly string[] = [...BOUNDARIES, ...MOMENTS];

/** Reached many times in every life. */
const OFTEN = /poll|persist|note|write/;

/** Every point at which a batch must have killed a daemon, as the coverage names them. */
export const KILL_POINTS: readonly string[] = [
  // No daemon exists at this point.
  ...BOUNDARIES.filter((point) => point !== 'after exit').map((point) => `kill: ${point}`),
  ...MOMENTS.map((point) => `kill: at ${point}`),
];

/** Decides at which effect boundary or other point this life ends. */
export class Killer {
  #point = '';
  #left = 0;

  constructor(private readonly world: World) {}

  /** Chooses the kill point of the next life. All points are equally likely, however often they are reached. */
  plan(): void {
    const { random, traits, isCalm } = this.world;
    this.#point = traits.has.kills && !isCalm && random.chance(0.8) ? (random.pick(POINTS) ?? '') : '';
    this.#left = random.int(1, OFTEN.test(this.#point) ? 12 : 2);
  }

  /** True when this is the chosen point. Rare points are made more likely. */
  waitsFor(...words: readonly string[]): boolean {
    return words.some((word) => this.#point.includes(word));
  }

  strikes(point: string): boolean {
    if (point !== this.#point || this.world.isCalm) return false;
    this.#left -= 1;
    return this.#left === 0;
  }
}
