import type { ContainedProcess, Containment, SpawnSpec } from './process.js';
import { shellText } from './check-spawn.js';
import { runContained } from './run-contained.js';

/** Runs a script with `bash -lc`, contained. Every process of a run is started here. Throws `BatonError`. */
export async function spawnContained(spec: SpawnSpec, containment: Containment): Promise<ContainedProcess> {
  const { script, unset, ...rest } = spec;
  return runContained({ ...rest, file: containment.bash, args: ['-lc', shellText(script, unset)] }, containment);
}
