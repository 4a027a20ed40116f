import { detectContainment } from '../../runner/contain/detect-containment.js';
import type { TrackerSurroundings } from '../daemon/tracker.js';
import type { Clock } from '../domain/clock.js';

/** For a command that only looks: a tracker's own program is contained as well as it can be here, and ends with the command. */
export function lookingOnly(clock: Clock): TrackerSurroundings {
  return { containment: () => detectContainment({ isolation: 'auto', hide: [], clock }) };
}
