import { fileURLToPath } from 'node:url';
import type { HiddenDirectory } from './process.js';

const INIT_SCRIPT = fileURLToPath(new URL('init.sh', import.meta.url));

/** Where the tools that build a namespace are taken from: never from a folder that an agent may write. */
export const SYSTEM_PATH = '/usr/sbin:/usr/bin:/sbin:/bin:/run/current-system/sw/bin';

export interface CommandLine {
  readonly file: string;
  readonly args: readonly string[];
  readonly env: { readonly [name: string]: string };
}

export interface NamespaceOptions {
  readonly bash: string;
  readonly userNamespace: boolean;
  readonly hide: readonly HiddenDirectory[];
  readonly workspace: { readonly dev: bigint; readonly ino: bigint };
}

/**
 * Wraps a command so that it runs alone in a PID namespace with a /proc of its own. `setpriv` ties the outer process to
 * the daemon's life, `--kill-child` ties the namespace to the outer process, `init.sh` is its PID 1.
 */
export function namespaceCommand(command: CommandLine, options: NamespaceOptions): CommandLine {
  const { early, late } = splitEnvironment(command.env);
  const hidden = options.hide.flatMap(({ path, dev, ino }) => [path, `${dev}:${ino}`]);
  return {
    file: 'setpriv',
    args: [
      ...['--pdeathsig', 'KILL', 'unshare'],
      // With --keep-caps init.sh may mount; the command itself starts without any capability.
      ...(options.userNamespace ? ['--user', '--map-current-user', '--keep-caps'] : []),
      ...['--pid', '--fork', '--kill-child=KILL', '--mount-proc', '--'],
      ...[options.bash, '-p', INIT_SCRIPT],
      `${options.workspace.dev}:${options.workspace.ino}`,
      ...hidden,
      '--',
      ...(options.userNamespace ? DROP_CAPABILITIES : []),
      ...['env', ...late, command.file, ...command.args],
    ],
    env: { ...early, PATH: SYSTEM_PATH },
  };
}

// Only sys_admin leaves the bounding set: it is what undoes a mount, and tools with other file capabilities (ping) go on working.
const DROP_CAPABILITIES = ['setpriv', '--ambient-caps', '-all', '--inh-caps', '-all', '--bounding-set', '-sys_admin'];

/**
 * What would change the tools in front of the command (loader, shell, search path) reaches the command alone, as arguments
 * of `env`. Everything else stays in the environment, because arguments are visible to every user of the machine.
 */
function splitEnvironment(env: CommandLine['env']): { early: Record<string, string>; late: readonly string[] } {
  const entries = Object.entries(env);
  const assignments = entries.filter(([name]) => isLate(name)).map(([name, value]) => `${name}=${value}`);
  // init.sh, a shell, sets SHLVL itself; PATH is ours until here.
  const unset = ['SHLVL', 'PATH'].flatMap((name) => ['-u', name]);
  return {
    early: Object.fromEntries(entries.filter(([name]) => !isLate(name))),
    late: [...unset, ...assignments],
  };
}

const LATE_NAMES = new Set(['PATH', 'SHLVL', 'SHELLOPTS', 'BASHOPTS', 'GLIBC_TUNABLES', 'GCONV_PATH', 'LOCPATH']);

function isLate(name: string): boolean {
  return LATE_NAMES.has(name) || name.startsWith('LD_');
}
