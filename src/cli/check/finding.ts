import type { Containment } from '../../../runner/contain/process.js';
import type { Clock } from '../../domain/clock.js';
import type { Issue } from '../../domain/issue.js';
import type { Position } from '../../domain/workflow.js';
import type { Redactor } from '../../logging/redact.js';
import { neutralise } from '../../text/neutralise.js';
import type { TrackerRegistry } from '../../tracker/registry.js';
import type { LoadedWorkflow } from '../../workflow/load-workflow.js';
import type { FrontMatter } from '../../workflow/parse-front-matter.js';
import type { KeyPath } from '../../workflow/positions.js';
import type { Io } from '../io.js';

/** The groups of findings, in the order of the output. */
const GROUPS = [
  'Workflow',
  'Steps',
  'Agent',
  'Tracker',
  'Hooks',
  'Notifications',
  'Isolation',
  'Workspaces',
  'Posture',
] as const;
export type Group = (typeof GROUPS)[number];

/** A result of `check`. A note without advice is good news, or an issue that would not start (`not_…`). */
export interface Finding {
  readonly level: 'error' | 'warning' | 'note';
  readonly group: Group;
  /** An error code, or a code of `check`. */
  readonly code: string;
  readonly message: string;
  readonly file: string;
  readonly line: number | null;
  readonly column: number | null;
  /** What the user should do. */
  readonly advice: string | null;
}

/** Errors of the environment, which can occur with a valid file. */
const ENVIRONMENT_ERRORS: ReadonlySet<string> = new Set([
  'AGENT_INVOCATION_FAILED',
  'agent_profile_unsupported',
  'agent_socket_folder',
  'codex_not_found',
  'invalid_environment',
  'isolation_failed',
  'isolation_needed',
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

/** 2 for faulty settings, 1 for errors of the environment only, 0 without errors. */
export function exitCodeOf(findings: readonly Finding[]): 0 | 1 | 2 {
  const errors = findings.filter(({ level }) => level === 'error');
  if (errors.length === 0) return 0;
  return errors.every(({ code }) => ENVIRONMENT_ERRORS.has(code)) ? 1 : 2;
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

export interface Summary {
  readonly errors: number;
  readonly warnings: number;
  /** Issues in active states, those that would start, and how many at a time; null when unknown. */
  readonly active: number | null;
  readonly eligible: number | null;
  readonly at_a_time: number | null;
}

/** Findings by group, errors first, with a summary at the end. */
export function textOf(findings: readonly Finding[], summary: Summary, paint: Paint): string {
  const blocks = GROUPS.flatMap((group) => {
    const own = findings
      .filter((finding) => finding.group === group)
      .sort((a, b) => rank(a) - rank(b) || byPosition(a, b));
    return own.length === 0
      ? []
      : [`${paint('bold', group)}\n${own.map((finding) => entryOf(finding, paint)).join('\n')}\n`];
  });
  return `${blocks.join('\n')}\n${verdict(summary)}\n`;
}

export type Paint = (style: 'bold' | 'red' | 'yellow' | 'green' | 'dim', text: string) => string;

const CODES = { bold: 1, red: 31, yellow: 33, green: 32, dim: 2 } as const;

export function painter(hasColours: boolean): Paint {
  return (style, text) => (hasColours ? `\u001b[${CODES[style]}m${text}\u001b[0m` : text);
}

function entryOf(finding: Finding, paint: Paint): string {
  const { file, line, column, message, advice } = finding;
  const position = line === null ? file : `${file}:${line}:${column ?? 1}`;
  const first = `  ${markOf(finding, paint)} ${neutralise(message)}  ${paint('dim', neutralise(position))}`;
  return advice === null ? first : `${first}\n      ${neutralise(advice)}`;
}

function markOf({ level, code, advice }: Finding, paint: Paint): string {
  if (level === 'error') return paint('red', '✗');
  // An issue that would not start, and the posture, are neither good news nor a fault.
  if (/^(?:not|posture)_/.test(code)) return paint('dim', '·');
  return level === 'warning' || advice !== null ? paint('yellow', '!') : paint('green', '✓');
}

function verdict({ errors, warnings, active, eligible, at_a_time: atATime }: Summary): string {
  const cautions = warnings === 0 ? '' : ` ${count(warnings, 'warning')} above.`;
  if (errors > 0) return `${count(errors, 'error')}: fix ${errors === 1 ? 'it' : 'them'} first.`;
  if (eligible === null || active === null) return `Ready.${cautions}`;
  if (eligible === 0) return `Ready, but no issue would start (${active} in active states).${cautions}`;
  const limit = atATime !== null && eligible > atATime ? `, ${atATime} at a time` : '';
  return `Ready: ${count(eligible, 'issue')} would start${limit}.${cautions}`;
}

function count(number: number, word: string): string {
  return `${number} ${word}${number === 1 ? '' : 's'}`;
}

function rank({ level, advice }: Finding): number {
  if (level === 'error') return 0;
  return level === 'warning' ? 1 : advice === null ? 3 : 2;
}

function byPosition(a: Finding, b: Finding): number {
  return (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0);
}

/** The text of WORKFLOW.md, with or without valid settings. */
export interface WorkflowText {
  /** The name of the file in findings. */
  readonly file: string;
  readonly lines: readonly string[];
  readonly frontMatter: FrontMatter;
  /** The position of a setting, or of the nearest section around it. */
  at(path: KeyPath): Position;
}

/** The context of the checks that need valid settings. */
export interface CheckContext extends WorkflowText {
  readonly io: Io;
  readonly loaded: LoadedWorkflow;
  readonly registry: TrackerRegistry;
  readonly redactor: Redactor;
  readonly clock: Clock;
  /** How agents and hooks are started here. */
  readonly containment: Containment;
}

/** Converts a 1-based line and column of a script to a position in the file. */
export type PositionIn = (line: number, column?: number) => Position;

/**
 * `start` is the start of the YAML value: the `|` of a block, or the first character of a text on one line. The lines of a folded
 * block and of a quoted text over several lines are lost, so positions in them point to the start.
 */
export function positionIn(fileLines: readonly string[], start: Position, script: string): PositionIn {
  const value = (fileLines[start.line - 1] ?? '').slice(start.column - 1);
  const style = /^(?:[&!]\S*\s+)*([|>"'])/.exec(value)?.[1] ?? '';
  const lastLine = script.trimEnd().split('\n').length;
  if (style === '|') {
    const indent = indentOf(fileLines.slice(start.line));
    return (line, column = 1) => ({ line: start.line + Math.min(line, lastLine), column: indent + column });
  }
  if (style === '>') {
    const column = indentOf(fileLines.slice(start.line)) + 1;
    return () => ({ line: start.line + 1, column });
  }
  const quote = style === '' ? 0 : 1;
  return (line, column = 1) => (line === 1 ? { line: start.line, column: start.column + quote + column - 1 } : start);
}

function indentOf(lines: readonly string[]): number {
  const first = lines.find((line) => line.trim() !== '') ?? '';
  return first.length - first.trimStart().length;
}

/** A word of a shell text as it is written, quotes included. */
export interface ShellWord {
  readonly raw: string;
  /** 0-based. */
  readonly offset: number;
}

/** Text, quotes and plain variables, but no command substitution. */
const WORD =
  /(?:[^\s"'\\;&|<>()`$]|\\.|"(?:[^"\\`$]|\\.|\$(?:[A-Za-z_]\w*|\{[A-Za-z_]\w*\}))*"|'[^']*'|\$(?:[A-Za-z_]\w*|\{[A-Za-z_]\w*\}))+/y;
const WRAPPERS = new Set(['exec', 'env', 'command', 'nohup', 'nice', 'time']);

/** The program that a command line starts; null when only running it would show that. */
export function firstWord(command: string): ShellWord | null {
  let at = 0;
  for (;;) {
    at += /^\s*/.exec(command.slice(at))?.[0].length ?? 0;
    WORD.lastIndex = at;
    const raw = WORD.exec(command)?.[0];
    if (raw === undefined) return null;
    const isSkipped = WRAPPERS.has(raw) || /^[A-Za-z_]\w*=/.test(raw);
    if (!isSkipped) return raw.startsWith('-') || raw.startsWith('#') ? null : { raw, offset: at };
    at += raw.length;
  }
}

/** An issue with only the required fields. */
export const BARE_ISSUE: Issue = {
  id: '1',
  identifier: 'AB-1',
  title: 'A sample issue',
  description: null,
  priority: null,
  state: 'To Do',
  branch_name: null,
  url: null,
  assignee_id: null,
  author: null,
  labels: [],
  blocked_by: [],
  comments: [],
  dispatchable: true,
  held_back: null,
  native_ref: null,
  created_at: null,
  updated_at: null,
};

/** An issue with all fields. */
export const SAMPLE_ISSUE: Issue = {
  ...BARE_ISSUE,
  description: 'A sample description.',
  priority: 2,
  branch_name: 'ab-1-a-sample-issue',
  url: 'https://example.org/AB-1',
  assignee_id: 'someone',
  author: { login: 'someone', trusted: true },
  labels: ['baton'],
  blocked_by: [{ id: '2', identifier: 'AB-2', state: 'Done' }],
  comments: [{ author: 'someone', body: 'A remark.', created_at: '2026-01-01T00:00:00.000Z' }],
  native_ref: { ref: 'AB-1' },
  created_at: '2026-01-01T00:00:00.000Z',
  updated_at: '2026-01-01T00:00:00.000Z',
};
