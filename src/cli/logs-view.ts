import type { RunView, TimelineEntry } from '../api/schemas.js';
import { timeOf } from '../domain/json.js';
import { formatAge, formatClock, formatMoment } from '../text/format-time.js';
import { neutralise } from '../text/neutralise.js';
import { chop, oneLine, wrap } from '../text/terminal-text.js';
import type { Paint } from './terminal.js';

/** The fields of a run that its log needs. */
export type LoggedRun = Pick<
  RunView,
  'run_id' | 'run_number' | 'reason' | 'started_at' | 'ended_at' | 'outcome' | 'code' | 'message' | 'after_run_failed'
>;

export interface LogFrame {
  readonly nowMs: number;
  /** Null when the output is no terminal; then no line is wrapped. */
  readonly width: number | null;
  readonly paint: Paint;
}

const TIME_COLUMNS = 10;
/** The transcript has all lines of a detail. */
const DETAIL_LINES = 40;
const MAX_ROWS = 10;

/** The line above the log of a run. */
export function renderRunHead(issue: string, run: LoggedRun, { nowMs, paint }: LogFrame): string {
  const started = timeOf(run.started_at);
  const parts = [
    `Run ${run.run_number} of ${issue}${run.reason === 'first' ? '' : ` (${run.reason})`}`,
    ...(started === null ? [] : [formatMoment(started, nowMs)]),
    endOf(run, nowMs),
    run.run_id,
  ];
  return `${paint.bold(oneLine(parts.join(' · ')))}\n`;
}

function endOf({ started_at, ended_at, outcome, code, after_run_failed }: LoggedRun, nowMs: number): string {
  const ended = timeOf(ended_at);
  if (ended === null) return `running for ${formatAge(started_at, nowMs) ?? '?'}`;
  const failed = after_run_failed ? ', but after_run failed' : '';
  return `${outcome ?? 'ended'}${code === null ? '' : ` (${code})`} after ${formatAge(started_at, ended) ?? '?'}${failed}`;
}

/** Each entry is its local time and its sentence, with its details below. */
export function renderEntries(entries: readonly TimelineEntry[], frame: LogFrame): string {
  return entries.map((entry) => renderEntry(entry, frame)).join('');
}

function renderEntry({ at, kind, text, detail }: TimelineEntry, { width, paint }: LogFrame): string {
  const margin = ' '.repeat(TIME_COLUMNS);
  const room = width === null ? null : Math.max(20, width - TIME_COLUMNS);
  const style = STYLES[kind];
  const sentence = room === null ? [oneLine(text)] : wrap(oneLine(text), room, MAX_ROWS);
  const [first = '', ...rest] = sentence.map((row) => (style === null ? row : paint[style](row)));
  const below = detailLines(detail)
    .flatMap((line) => (room === null ? [line] : chop(line, room - 2).slice(0, MAX_ROWS)))
    .map((row) => paint.dim(`│ ${row}`));
  const rows = [`${paint.dim(clockTime(at))}  ${first}`, ...[...rest, ...below].map((row) => `${margin}${row}`)];
  return rows.map((row) => `${row.trimEnd()}\n`).join('');
}

const STYLES: { readonly [kind in TimelineEntry['kind']]: keyof Paint | null } = {
  run: 'bold',
  agent: null,
  hook: 'cyan',
  step: 'cyan',
  question: 'yellow',
  problem: 'red',
};

function detailLines(detail: string | null): string[] {
  if (detail === null) return [];
  const lines = detail.split('\n').map((line) => neutralise(line.replaceAll('\t', '    ')));
  const left = lines.length - DETAIL_LINES;
  return left <= 1 ? lines : [...lines.slice(0, DETAIL_LINES), `… and ${left} more lines, see --raw`];
}

/** Without the day, which the line above the run has. */
function clockTime(at: string | null): string {
  const ms = timeOf(at);
  return ms === null ? '--:--:--' : formatClock(ms);
}
