import type { Plant } from './plant.js';
import { CLOCKS } from './planted-clocks.js';
import { LIMITS } from './planted-limits.js';
import { STORE_AND_RESTART } from './planted-memory.js';
import { PORTS } from './planted-ports.js';
import { WORDS } from './planted-words.js';

export interface Planted {
  readonly name: string;
  readonly plant: Plant;
}

/** Bugs as people make them, each in one wrapper. The laws must find every one. */
export const PLANTED: readonly Planted[] = [...PORTS, ...CLOCKS, ...STORE_AND_RESTART, ...WORDS, ...LIMITS];
