import { BatonError } from '../../domain/errors.js';
import { type OurUnit, ourUnits } from './our-units.js';
import type { ServicePlaces } from './service-places.js';
import type { UnitMark } from './unit-mark.js';

export interface WantedUnit {
  readonly name: string;
  readonly path: string;
  readonly mark: UnitMark;
  /** What is at its path now. */
  readonly before: OurUnit | 'foreign' | null;
}

/** Throws `service_failed` when installing would overwrite what is not for it, or make a second daemon for a workflow. */
export async function refuseClash(wanted: WantedUnit, places: readonly ServicePlaces[]): Promise<void> {
  const { path, mark, before } = wanted;
  const { workflow } = mark;
  if (before === 'foreign') {
    throw new BatonError(
      'service_failed',
      `${path} was not written by Baton, so it is left alone. Choose another name: --name`,
    );
  }
  if (before !== null && before.mark.workflow !== workflow) {
    const message = `${path} is the service of ${before.mark.workflow}. Choose another name: --name`;
    throw new BatonError('service_failed', message);
  }
  const units = (await Promise.all(places.map(ourUnits))).flat();
  const other = units.find((unit) => unit.mark.workflow === workflow && unit.path !== path);
  if (!other) return;
  const message = `${workflow} has a service already: ${other.name} (${other.path}). Uninstall it first, or install with --name ${other.name} to change it`;
  throw new BatonError('service_failed', message);
}
