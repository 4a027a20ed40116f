import { localTracker } from './local/entry.js';
import type { TrackerEntry } from './registry.js';

/** Every tracker that this build can talk to. An adapter is added by one line here. */
export const ADAPTERS: readonly TrackerEntry[] = [localTracker];
