// Live processes according to /proc, for programs that are not compiled.
import { readdirSync, readFileSync } from 'node:fs';

/** Pids of live processes with this entry in their environment. */
export function markedWith(entry) {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .map(Number)
    .filter((pid) => read(pid, 'environ').split('\0').includes(entry) && isAlive(pid));
}

/** A zombie has ended; only its parent has not looked yet. */
export function isAlive(pid) {
  const stat = read(pid, 'stat');
  return stat !== '' && !'ZX'.includes(stat.slice(stat.lastIndexOf(')') + 2)[0]);
}

/** Empty when the process is gone or not ours. */
function read(pid, file) {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'latin1');
  } catch {
    return '';
  }
}
