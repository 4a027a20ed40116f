import { lstat, readdir, readFile, realpath } from 'node:fs/promises';
import { resolve } from 'node:path';
import { BatonError } from '../../domain/errors.js';
import { shorter } from '../invocation.js';
import type { ServicePlaces } from './service-places.js';
import { unitPath } from './service-places.js';
import { readMark, type UnitMark } from './unit-mark.js';
import { serviceNameOf } from './unit-name.js';

/** A unit that we wrote. */
export interface OurUnit {
  readonly name: string;
  readonly path: string;
  readonly text: string;
  readonly mark: UnitMark;
}

/** What is where a unit would be: `null` for nothing, `foreign` for what we did not write. */
export async function readUnit(places: ServicePlaces, name: string): Promise<OurUnit | 'foreign' | null> {
  const path = unitPath(places, name);
  try {
    // A link, as of a unit that is masked, leads to somebody else's file.
    if (!(await lstat(path)).isFile()) return 'foreign';
    const text = await readFile(path, 'utf8');
    const mark = readMark(text);
    return mark === null ? 'foreign' : { name, path, text, mark };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw new BatonError('service_failed', `${path} cannot be read: ${(error as Error).message}`, {}, { cause: error });
  }
}

/** All units of ours in a folder, by name. */
export async function ourUnits(places: ServicePlaces): Promise<readonly OurUnit[]> {
  const files = await readdir(places.units).catch(() => []);
  const names = files.map(serviceNameOf).filter((name) => name !== null);
  const units = await Promise.all(names.sort().map((name) => readUnit(places, name).catch(() => null)));
  return units.filter((unit): unit is OurUnit => unit !== null && unit !== 'foreign');
}

export interface UnitChoice {
  readonly name: string | undefined;
  readonly workflowPath: string;
  readonly cwd: string;
}

/** The unit that a command means: by its name, or by its workflow. Throws `service_failed`. */
export async function chooseUnit(places: ServicePlaces, { name, workflowPath, cwd }: UnitChoice): Promise<OurUnit> {
  const all = await ourUnits(places);
  const isNone = all.length === 0;
  const known = isNone
    ? `there are none in ${places.units} (services of the machine are found with --system)`
    : `there are: ${all.map((unit) => unit.name).join(', ')}`;
  if (name !== undefined) {
    const found = await readUnit(places, name);
    if (found !== null && found !== 'foreign') return found;
    if (found === null) throw new BatonError('service_failed', `there is no service ${name}; ${known}`);
    throw new BatonError('service_failed', `${unitPath(places, name)} was not written by Baton, so it is left alone`);
  }
  const path = resolve(cwd, workflowPath);
  const real = await realpath(path).catch(() => path);
  const [first, ...others] = all.filter(({ mark }) => mark.workflow === real);
  const shown = shorter(path, cwd);
  if (!first) {
    const next = isNone ? '`baton service install` makes one' : 'Choose one with --name';
    throw new BatonError('service_failed', `there is no service for ${shown}; ${known}. ${next}`);
  }
  if (others.length === 0) return first;
  const names = [first, ...others].map((unit) => unit.name).join(', ');
  throw new BatonError('service_failed', `${shown} has several services: ${names}. Choose one with --name`);
}
