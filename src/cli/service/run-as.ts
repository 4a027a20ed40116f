import { BatonError } from '../../domain/errors.js';
import type { Io } from '../io.js';
import { withSystemd } from './systemd.js';
import type { Scope } from './unit-name.js';

export interface RunAs {
  /** For `User=`; `null` in a unit of the user, which runs as nobody else. */
  readonly user: string | null;
  readonly homeDir: string;
}

/** Who a service runs as. Never root by chance: agents would be root. Throws `service_failed`. */
export async function chooseRunAs(scope: Scope, asked: string | undefined, io: Io): Promise<RunAs> {
  if (scope === 'user') return { user: null, homeDir: io.homeDir };
  const user = asked ?? (io.env.SUDO_USER === 'root' ? undefined : io.env.SUDO_USER);
  if (user === undefined || user === '') {
    throw new BatonError(
      'service_failed',
      'say who the service runs as with --run-as <user>: its agents will have the rights of that user. An own user for it is best; --run-as root is possible',
    );
  }
  const { code, stdout } = await withSystemd(scope, io, (programs) => programs.ask('getent', 'passwd', '--', user));
  const [name = '', , , , , homeDir = ''] = stdout.trim().split(':');
  if (code === 0 && name !== '' && homeDir.startsWith('/')) return { user: name, homeDir };
  throw new BatonError(
    'service_failed',
    `there is no user ${user}. Make one (sudo useradd --create-home ${user}), or name another`,
  );
}

/** Throws `service_failed` where only root could go on. `call`: what was typed. */
export function refuseWithoutRoot(scope: Scope, call: string): void {
  if (scope === 'user' || process.geteuid?.() === 0) return;
  const message = `services of the machine are a matter of root: sudo ${call} --system. Without --system it is about your own`;
  throw new BatonError('service_failed', message);
}
