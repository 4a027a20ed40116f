import { readFile } from 'node:fs/promises';

/** When a process started, in clock ticks since the boot; `null`: there is none, or the system does not tell. A zombie has ended. */
export async function processStart(pid: number): Promise<string | null> {
  const stat = await readFile(`/proc/${pid}/stat`, 'latin1').catch(() => '');
  // The name, in parentheses, may itself hold blanks and parentheses.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return 'ZX'.includes(fields[0] ?? '') ? null : (fields[19] ?? null);
}
