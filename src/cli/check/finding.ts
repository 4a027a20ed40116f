import type { Position } from '../../workflow/positions.js';

/** The parts of a check, in the order in which a person reads them. */
export const GROUPS = [
  'Workflow',
  'Steps',
  'Agent',
  'Tracker',
  'Hooks',
  'Notifications',
  'Isolation',
  'Workspaces',
] as const;
export type Group = (typeof GROUPS)[number];

/** One thing that `check` has to tell. A note without advice is good news, or an issue that waits (`not_…`). */
export interface Finding {
  readonly level: 'error' | 'warning' | 'note';
  readonly group: Group;
  /** Of an error table where there is one, else a word of the check's own. */
  readonly code: string;
  readonly message: string;
  readonly file: string;
  readonly line: number | null;
  readonly column: number | null;
  /** What to do about it. */
  readonly advice: string | null;
}

/** Errors of the world around the workflow: the file may be right, and still nothing would run. */
const OUTSIDE: ReadonlySet<string> = new Set([
  'AGENT_INVOCATION_FAILED',
  'codex_not_found',
  'invalid_environment',
  'isolation_unavailable',
  'low_disk',
  'notify_command_missing',
  'shell_failed',
  'tracker_auth',
  'tracker_pagination',
  'tracker_rate_limited',
  'tracker_request',
  'tracker_response',
  'tracker_status',
  'variable_missing',
  'internal_error',
]);

/** 2 when the settings are faulty, 1 when only something around them is, 0 without errors. */
export function exitCodeOf(findings: readonly Finding[]): 0 | 1 | 2 {
  const errors = findings.filter(({ level }) => level === 'error');
  if (errors.length === 0) return 0;
  return errors.every(({ code }) => OUTSIDE.has(code)) ? 1 : 2;
}

/** Makes findings of one group about one file. */
export function reporter(group: Group, file: string) {
  return (
    level: Finding['level'],
    code: string,
    at: Position | null,
    message: string,
    advice: string | null = null,
  ): Finding => ({ level, group, code, message, file, line: at?.line ?? null, column: at?.column ?? null, advice });
}
