import { neutralise } from '../../text/neutralise.js';
import { formatPretty } from '../../logging/pretty.js';
import { type SystemdPrograms, systemctlArgs } from './systemd.js';
import type { Scope } from './unit-name.js';

/** The arguments of journalctl for the log of a unit, as the daemon wrote it. */
export function journalArgs(scope: Scope, unit: string, lines: number): readonly string[] {
  return [...systemctlArgs(scope, ['--unit', unit]), `--lines=${lines}`, '--output=cat', '--no-pager', '--quiet'];
}

/** The last lines of a log for people; none when there is no log to be read. */
export async function lastLogLines(
  scope: Scope,
  unit: string,
  count: number,
  programs: SystemdPrograms,
): Promise<readonly string[]> {
  const { code, stdout } = await programs.ask('journalctl', ...journalArgs(scope, unit, count));
  const lines = stdout.split('\n').filter((line) => line !== '');
  return code === 0 ? lines.slice(-count).map((line) => logLine(line, { colour: false })) : [];
}

/** A line of the daemon as it is on a terminal; what systemd or Node says between them as it is. */
export function logLine(line: string, options: { readonly colour: boolean }): string {
  if (!line.startsWith('{"level":')) return neutralise(line);
  try {
    return formatPretty(line, options).trimEnd();
  } catch {
    return neutralise(line);
  }
}
