import type { Plant } from './plant.js';
import { CLOCKS } from './planted-clocks.js';
import { LIMITS } from './planted-limits.js';
import { STORE_AND_RESTART } from './planted-memory.js';
import { PLANTED_MESSAGES } from './planted-messages.js';
import { PORTS } from './planted-ports.js';

export interface Planted {
  readonly name: string;
  readonly plant: Plant;
}

/** Realistic bugs, each in one wrapper. The laws must find every one. */
export const PLANTED: readonly Planted[] = [...PORTS, ...CLOCKS, ...STORE_AND_RESTART, ...PLANTED_MESSAGES, ...LIMITS];
