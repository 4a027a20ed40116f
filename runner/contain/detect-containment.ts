import { randomUUID } from 'node:crypto';
import { access, constants, lstat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../../src/domain/clock.js';
import type { RuntimeConfig } from '../../src/domain/config.js';
import { BatonError, toBatonError } from '../../src/domain/errors.js';
import { captureOutput } from './capture-output.js';
import { pinDirectory } from './hidden-directories.js';
import type { Containment, HiddenDirectory, NamespaceContainment } from './process.js';
import { spawnContained } from './spawn-contained.js';
import { SYSTEM_PATH } from './start-process.js';

export interface DetectOptions {
  readonly isolation: RuntimeConfig['isolation'];
  /** Directories that are hidden from runs: the state of the daemon. They must exist. */
  readonly hide: readonly string[];
  /** Paths that are hidden as well, if they exist. Asked before every spawn. */
  readonly hideMore?: () => Promise<readonly string[]>;
  readonly clock: Clock;
}

/** Tries out how processes can be contained on this machine. Throws `isolation_unavailable` when `pidns` is required and does not work. */
export async function detectContainment({ isolation, hide, hideMore, clock }: DetectOptions): Promise<Containment> {
  const bash = await findBash();
  const none = (why: string): Containment => ({ kind: 'none', reason: `${why} ${WEAK_CONTAINMENT}`, bash, clock });
  if (isolation === 'none') return none('runtime.isolation is none.');

  const userNamespace = process.geteuid?.() !== 0;
  const form: NamespaceContainment = {
    kind: 'pidns',
    reason: `Every process runs in a PID namespace${userNamespace ? ' inside a user namespace' : ''} that ends with it.`,
    bash,
    clock,
    userNamespace,
    hide: await Promise.all(hide.map(pin)),
    ...(hideMore ? { hideMore } : {}),
  };
  const obstacle = process.platform === 'linux' ? await tryOut(form) : `${process.platform} has no PID namespaces`;
  if (obstacle === null) return form;
  if (isolation === 'auto') return none(`PID namespaces do not work here (${obstacle}).`);
  throw new BatonError(
    'isolation_unavailable',
    `runtime.isolation is pidns, but PID namespaces do not work here: ${obstacle}. Install util-linux and allow user namespaces (user.max_user_namespaces, kernel.apparmor_restrict_unprivileged_userns; in a container its seccomp profile), or set runtime.isolation to auto`,
    { userNamespace },
  );
}

const WEAK_CONTAINMENT =
  'Processes are ended by group and marker only: one that leaves both survives, a killed daemon leaves its agents running until the next one starts, and agents can read the state directory.';

/** Returns null when a trial command ran alone, could not see the hidden directories and had no capability to uncover them. */
async function tryOut(form: NamespaceContainment): Promise<string | null> {
  try {
    const root = await lstat('/');
    const trial = await spawnContained(
      {
        marker: `trial-${randomUUID()}`,
        file: form.bash,
        args: ['-p', '-c', TRIAL, 'trial', form.userNamespace ? '0' : 'any', ...form.hide.map(({ path }) => path)],
        cwd: '/',
        identity: { dev: root.dev, ino: root.ino },
        env: { PATH: SYSTEM_PATH },
        stdin: 'ignore',
      },
      form,
    );
    const { stderr, status } = await captureOutput(trial, { maxBytes: 4_000, clock: form.clock, drainMs: 1_000 });
    await trial.stop();
    return status.code === 0 ? null : `the trial ended with ${status.code ?? status.signal} ${stderr.trim()}`.trim();
  } catch (error) {
    return toBatonError(error).message;
  }
}

const TRIAL = `
[[ $PPID == 1 && -d /proc/$$ ]] || { echo 'not in a PID namespace of its own' >&2; exit 1; }
read -r _ capabilities < <(grep CapEff /proc/self/status)
[[ $1 == any || $((16#$capabilities)) == 0 ]] || { echo 'capabilities were kept' >&2; exit 1; }
shift
for hidden; do
  [[ -z $(ls -A -- "$hidden") ]] || { echo "$hidden is not hidden" >&2; exit 1; }
done
`;

async function pin(path: string): Promise<HiddenDirectory> {
  try {
    return await pinDirectory(path);
  } catch (cause) {
    throw new BatonError(
      'internal_error',
      `${path} is to be hidden from runs but cannot be read; create it first`,
      {},
      { cause },
    );
  }
}

async function findBash(): Promise<string> {
  for (const folder of SYSTEM_PATH.split(':')) {
    const path = join(folder, 'bash');
    const isThere = await access(path, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (isThere) return path;
  }
  return 'bash';
}
