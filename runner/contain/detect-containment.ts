import { randomUUID } from 'node:crypto';
import { access, constants, lstat, readFile, writeFile } from 'node:fs/promises';
import { release } from 'node:os';
import { join } from 'node:path';
import type { Clock } from '../../src/domain/clock.js';
import type { RuntimeConfig } from '../../src/domain/config.js';
import { BatonError, toBatonError } from '../../src/domain/errors.js';
import { captureOutput } from './capture-output.js';
import { pinDirectory } from './hidden-directories.js';
import type { Containment, HiddenDirectory, NamespaceContainment } from './process.js';
import { readBootId } from './reap.js';
import { spawnContained } from './spawn-contained.js';
import { SYSTEM_PATH } from './start-process.js';

export interface DetectOptions {
  readonly isolation: RuntimeConfig['isolation'];
  /** Directories that are hidden from runs: the state of the daemon. They must exist. */
  readonly hide: readonly string[];
  /** Paths that are hidden as well, if they exist. Asked before every spawn. */
  readonly hideMore?: () => Promise<readonly string[]>;
  /** The folder of the locks, which all daemons of a user share and no run sees. A file in it records that namespaces have worked. */
  readonly lockDir?: string;
  readonly clock: Clock;
}

/**
 * Tries out how processes can be contained on this machine. Throws `isolation_unavailable` when `pidns` is required and does not work, and
 * `isolation_failed` when namespaces work here, but not now: an agent can use them up, and must not get a daemon without them in that way.
 */
export async function detectContainment(options: DetectOptions): Promise<Containment> {
  const { isolation, hide, hideMore, lockDir, clock } = options;
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
  if (obstacle === null) {
    if (lockDir !== undefined) await recordSuccess(lockDir);
    return form;
  }
  const hasWorked = lockDir !== undefined && (await isRecorded(lockDir));
  if (hasWorked || (await isShortage(obstacle))) throw failedNow(obstacle, hasWorked);
  if (isolation === 'auto') return none(`PID namespaces do not work here (${obstacle}).`);
  throw new BatonError(
    'isolation_unavailable',
    `runtime.isolation is pidns, but PID namespaces do not work here: ${obstacle}. Install util-linux and allow user namespaces (user.max_user_namespaces, kernel.apparmor_restrict_unprivileged_userns; in a container its seccomp profile), or set runtime.isolation to auto`,
    { userNamespace },
  );
}

const WEAK_CONTAINMENT =
  'Processes are ended by group and marker only: one that leaves both survives, a killed daemon leaves its agents running until the next one starts, and agents can read the state directory.';

function failedNow(obstacle: string, hasWorked: boolean): BatonError {
  const why = hasWorked ? 'they have worked since this machine was started' : 'this machine has them';
  const message = `PID namespaces cannot be made now, although ${why}: ${obstacle}. Without them agents could read the state and the token of every daemon. End the programs that use them up (lsns --type user) or restart the machine, or accept this with these lines in WORKFLOW.md:\nruntime:\n  isolation: none`;
  return new BatonError('isolation_failed', message, { hasWorked });
}

const SHORTAGE =
  /No space left on device|Resource temporarily unavailable|Cannot allocate memory|Out of memory|Too many open files|\b(?:ENOSPC|EAGAIN|ENOMEM|EMFILE|ENFILE)\b|was not ready after/;

/** The programs of the trial run in the C locale, because they get no variable that sets another one. */
async function isShortage(obstacle: string): Promise<boolean> {
  if (!SHORTAGE.test(obstacle)) return false;
  // With a limit of 0, which forbids them for good, the kernel gives the same error.
  const limit = await readFile('/proc/sys/user/max_user_namespaces', 'latin1').catch(() => '0');
  return Number(limit) > 0;
}

async function recordSuccess(lockDir: string): Promise<void> {
  if (await isRecorded(lockDir)) return;
  // Commands work without the folder, too. Then only the text of a failure shows that it is temporary.
  await writeFile(recordPath(lockDir), await thisBoot(), { mode: 0o600 }).catch(() => {});
}

async function isRecorded(lockDir: string): Promise<boolean> {
  return (await readFile(recordPath(lockDir), 'utf8').catch(() => null)) === (await thisBoot());
}

const recordPath = (lockDir: string) => join(lockDir, 'namespaces-worked');

async function thisBoot(): Promise<string> {
  return `${await readBootId()} ${release()}\n`;
}

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

/** Without other programs, because each one delays the start of the daemon. */
const TRIAL = `
[[ $PPID == 1 && -d /proc/$$ ]] || { echo 'not in a PID namespace of its own' >&2; exit 1; }
while read -r name value; do [[ $name == CapEff: ]] && capabilities=$value; done < /proc/$$/status
[[ $1 == any || $((16#$capabilities)) == 0 ]] || { echo 'capabilities were kept' >&2; exit 1; }
shift
shopt -s nullglob dotglob
for hidden; do
  entries=("$hidden"/*)
  ((\${#entries[@]} == 0)) || { echo "$hidden is not hidden" >&2; exit 1; }
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
