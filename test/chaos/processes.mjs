import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

export const NOBODY = 65534;
export const isRoot = process.geteuid?.() === 0;

/** The command prefix that runs a command as this user. */
export function becoming(uid) {
  return uid === null ? [] : ['setpriv', '--reuid', String(uid), '--regid', String(uid), '--clear-groups'];
}

/** Can this user make PID namespaces here? */
export function hasNamespaces(uid) {
  const userns = isRoot && uid === null ? [] : ['--user', '--map-current-user'];
  const [file, ...args] = [...becoming(uid), 'unshare', ...userns, '--pid', '--fork', '--mount-proc', 'true'];
  try {
    execFileSync(file, args, { stdio: 'ignore', cwd: '/' });
    return true;
  } catch {
    return false;
  }
}

/**
 * Live processes whose command line, environment or folder contains this number, which is unique per trial; zombies
 * do not count. `startTime` is in clock ticks since the machine started, as in /proc.
 */
export function processesWith(number) {
  const own = String(process.pid);
  return readdirSync('/proc')
    .filter((pid) => /^\d+$/.test(pid) && pid !== own)
    .flatMap((pid) => {
      const stat = textOf(`/proc/${pid}/stat`);
      const [state, ...fields] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      if (stat === '' || state === 'Z' || state === 'X') return [];
      const command = textOf(`/proc/${pid}/cmdline`).replaceAll('\0', ' ');
      const environment = textOf(`/proc/${pid}/environ`);
      if (![command, environment, folderOf(pid)].some((text) => text.includes(number))) return [];
      const marker = /(?:^|\0)BATON_RUN_MARKER=([^\0]*)/.exec(environment)?.[1] ?? null;
      return [{ pid: Number(pid), startTime: Number(fields[18]), command, marker }];
    });
}

/** When a process started, by the same clock; `null` when it is gone. */
export function startTimeOf(pid) {
  const stat = textOf(`/proc/${pid}/stat`);
  return stat === '' ? null : Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19]);
}

function textOf(path) {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    return ''; // it ended while we looked, or is not ours
  }
}

function folderOf(pid) {
  try {
    return readlinkSync(`/proc/${pid}/cwd`);
  } catch {
    return '';
  }
}

export function endProcess(pid) {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has already ended.
  }
}
