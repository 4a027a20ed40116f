import { join } from 'node:path';
import { configBase, defaultConfigDir } from '../../state-dir.js';
import { type Scope, unitNameOf } from './unit-name.js';

/** Where the files of services are. */
export interface ServicePlaces {
  readonly units: string;
  /** Variables of services, secrets among them. */
  readonly variables: string;
}

export interface PlaceFacts {
  readonly env: NodeJS.ProcessEnv;
  readonly homeDir: string;
  /** `/etc`; tests have another. */
  readonly etcDir?: string | undefined;
}

export function placesOf(scope: Scope, { env, homeDir, etcDir = '/etc' }: PlaceFacts): ServicePlaces {
  if (scope === 'system') return { units: join(etcDir, 'systemd', 'system'), variables: join(etcDir, 'baton') };
  const units = join(configBase(env, homeDir), 'systemd', 'user');
  return { units, variables: defaultConfigDir(env, homeDir) };
}

export function unitPath(places: ServicePlaces, name: string): string {
  return join(places.units, unitNameOf(name));
}

export function variablesPath(places: ServicePlaces, name: string): string {
  return join(places.variables, `${name}.env`);
}
