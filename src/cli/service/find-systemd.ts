import { BatonError } from '../../domain/errors.js';
import type { SystemdPrograms } from './systemd.js';
import { systemctlArgs } from './systemd.js';
import type { Scope } from './unit-name.js';

const INSTEAD =
  'What to do instead: `baton service install --dry-run` prints the unit, to be used elsewhere; `tmux new -d baton` keeps a daemon running without a service; a line for `baton --once` in the crontab works issues off at set times';

/** Throws `service_failed` with what to do when there is no systemd that could run a service. */
export async function refuseWithoutSystemd(scope: Scope, programs: SystemdPrograms): Promise<void> {
  const { code, stdout } = await programs.ask('systemctl', ...systemctlArgs(scope, ['is-system-running']));
  if (code === 127) {
    throw new BatonError('service_failed', `there is no systemd here: systemctl is not on the PATH. ${INSTEAD}`);
  }
  // It fails for `degraded` too, which only means that some other unit has failed.
  if (/^(?:initializing|starting|running|degraded|maintenance|stopping)$/m.test(stdout)) return;
  const isBooted = scope === 'user' && (await isSystemRunning(programs));
  if (!isBooted) {
    throw new BatonError(
      'service_failed',
      `this machine was not started by systemd, so it runs no services. ${INSTEAD}`,
    );
  }
  throw new BatonError(
    'service_failed',
    'the systemd of this user cannot be reached. It runs while the user is logged in (sudo and su are no login), or always after `sudo loginctl enable-linger "$USER"`. As a service of the machine: `sudo baton service install --system --run-as <user>`',
  );
}

async function isSystemRunning(programs: SystemdPrograms): Promise<boolean> {
  const { stdout } = await programs.ask('systemctl', 'is-system-running');
  return stdout.trim() !== '' && stdout.trim() !== 'offline' && stdout.trim() !== 'unknown';
}
