import { access, rm } from 'node:fs/promises';
import { BatonError } from '../../domain/errors.js';
import { neutraliseLines } from '../../text/neutralise.js';
import type { Io } from '../io.js';
import { refuseWithoutSystemd } from './find-systemd.js';
import { chooseUnit, type OurUnit } from './our-units.js';
import { refuseWithoutRoot } from './run-as.js';
import { placesOf } from './service-places.js';
import { systemctlArgs, withSystemd } from './systemd.js';
import { type Scope, unitNameOf } from './unit-name.js';

export interface UninstallOptions {
  readonly workflowPath: string;
  readonly name?: string | undefined;
  readonly scope: Scope;
  readonly dryRun: boolean;
  readonly command: string;
  /** `/etc`; tests have another. */
  readonly etcDir?: string | undefined;
}

/** Stops a service and removes its unit, if it is ours; what it has done stays. The exit code. Throws `service_failed`. */
export async function uninstallService(options: UninstallOptions, io: Io): Promise<number> {
  const { scope, dryRun, name, workflowPath, etcDir, command } = options;
  if (!dryRun) refuseWithoutRoot(scope, `${command} service uninstall`);
  const places = placesOf(scope, { ...io, etcDir });
  const ours = await chooseUnit(places, { name, workflowPath, cwd: io.cwd });
  const unit = unitNameOf(ours.name);
  const tell = (...lines: string[]) => io.stdout.write(`${neutraliseLines(lines.join('\n'))}\n`);
  const say = (...args: string[]) => `systemctl ${systemctlArgs(scope, args).join(' ')}`;
  const kept = await keptText(ours);
  if (dryRun) {
    tell('Would run:', `    ${say('disable', '--now', unit)}`, `Would remove ${ours.path}, then run:`);
    tell(`    ${say('daemon-reload')}`, kept);
    return 0;
  }
  return withSystemd(scope, io, async (programs) => {
    await refuseWithoutSystemd(scope, programs);
    // First: a unit without its file could not be told to stop in its own way.
    await programs.act('disable', '--now', unit);
    await rm(ours.path).catch((error: Error) => {
      throw new BatonError('service_failed', `${ours.path} could not be removed: ${error.message}`);
    });
    await programs.act('daemon-reload');
    // Otherwise one that had failed stays in the lists; it fails where there is nothing to forget.
    await programs.ask('systemctl', ...systemctlArgs(scope, ['reset-failed', unit]));
    tell(`${unit} is stopped and removed.`, kept);
    return 0;
  });
}

async function keptText({ path, mark }: OurUnit): Promise<string> {
  const others = [mark.environmentFile, `${path}.d`];
  const isThere = await Promise.all(
    others.map((file) =>
      access(file).then(
        () => true,
        () => false,
      ),
    ),
  );
  const left = [mark.stateDir, ...others.filter((_, index) => isThere[index])];
  return ['Kept, to be deleted by hand if nobody needs it:', ...left.map((file) => `    ${file}`)].join('\n');
}
