import type {
  AskingView,
  DoneView,
  HoldView,
  ParkedView,
  QuestionView,
  ReadyView,
  RetryingView,
  RunningView,
  StateView,
} from '../api/schemas.js';
import { lastWord, shellWord } from '../domain/shell-word.js';
import { formatBudget, formatTokens } from '../text/format-numbers.js';
import { formatAge, formatTimeLeft, localiseTimes } from '../text/format-time.js';
import { neutralise } from '../text/neutralise.js';
import { AFTER_RUN_FAILED, WAITS_FOR_SLOT } from '../text/outcomes.js';
import { cut, oneLine, pad, widthOf, withStop, wrap } from '../text/terminal-text.js';
import { questionLines } from './answer.js';
import type { Paint } from './terminal.js';

/** How a status is laid out. */
export interface Frame {
  readonly nowMs: number;
  /** Columns for sentences. */
  readonly width: number;
  /** Columns for a row with a long title. */
  readonly widest: number;
  /** Rows of a screen that does not scroll and is too small, so that lists are shortened. Null: no limit. */
  readonly height: number | null;
  readonly paint: Paint;
  /** Show every entry of every list. */
  readonly all: boolean;
  /** The flags that name the daemon in commands. */
  readonly target: string;
}

/** One entry of a list: its first line and the lines below. */
export interface Entry {
  readonly identifier: string;
  readonly title: string;
  readonly right: string;
  readonly below: readonly Line[];
}

export interface Line {
  readonly text: string;
  readonly style?: keyof Paint;
  /** Default: 1. */
  readonly maxLines?: number;
  /** Neither wrapped nor cut, since it is to be copied. */
  readonly isCommand?: boolean;
  /** Text of an agent: every row stands behind a bar. */
  readonly isQuoted?: boolean;
}

const MAX_IDENTIFIER = 16;
const MIN_TITLE = 12;
/** From that many rows on no list is shortened. */
const TALL = 56;
const FEWEST_LINES = 3;

/** The number of lines that a list may have on this screen. */
export function linesOf(lines: number, { height }: Frame): number {
  return height === null ? lines : Math.min(lines, Math.max(FEWEST_LINES, Math.floor((lines * height) / TALL)));
}

/** A heading with its entries, cut to a number of lines. Empty without entries. */
export function section(
  heading: string,
  entries: readonly Entry[],
  frame: Frame,
  options: { readonly lines: number; readonly style?: keyof Paint; readonly note?: string },
): string[] {
  if (entries.length === 0) return [];
  const { paint, all } = frame;
  const column = Math.min(MAX_IDENTIFIER, Math.max(...entries.map(({ identifier }) => widthOf(oneLine(identifier)))));
  const note = options.note === undefined ? '' : `: ${oneLine(options.note)}`;
  const title = `${heading} (${entries.length})`;
  const lines = [`${paint[options.style ?? 'bold'](title)}${cut(note, frame.width - widthOf(title))}`];
  const room = linesOf(options.lines, frame);
  const width = rowWidth(entries, column, frame);
  let shown = 0;
  for (const entry of entries) {
    const own = entryLines(entry, column, width, frame);
    if (!all && shown > 0 && lines.length + own.length > room + 1) break;
    lines.push(...own);
    shown += 1;
  }
  const left = entries.length - shown;
  if (left > 0) lines.push(paint.dim(`  … and ${left} more (--all)`));
  return lines;
}

/** A command about an issue, as the user can type it. Of an identifier that looks like a flag, all flags stand before it. */
export function commandFor(
  { target }: Frame,
  verb: string,
  identifier: string | null,
  { answer = '', flags = '' }: { readonly answer?: string; readonly flags?: string } = {},
): string {
  const issue = identifier === null ? '' : ` ${identifier === '<issue>' ? identifier : lastWord(identifier)}`;
  const isLast = identifier?.startsWith('-') === true;
  const rest = isLast ? `${flags}${target}${issue}${answer}` : `${issue}${answer}${flags}${target}`;
  return neutralise(`baton ${verb}${rest}`);
}

/** Wider than sentences when a title would be cut and the terminal has room. */
function rowWidth(entries: readonly Entry[], column: number, { width, widest }: Frame): number {
  const wanted = entries.map(({ title, right }) => column + 6 + widthOf(oneLine(title)) + widthOf(oneLine(right)));
  return Math.min(widest, Math.max(width, ...wanted));
}

function entryLines({ identifier, title, right, below }: Entry, column: number, width: number, frame: Frame): string[] {
  const { paint } = frame;
  const indent = column + 4;
  const rightText = oneLine(right);
  const forTitle = width - indent - widthOf(rightText) - 2;
  const isBeside = rightText !== '' && forTitle >= MIN_TITLE;
  const name = paint.cyan(pad(oneLine(identifier), column));
  const first = isBeside
    ? `  ${name}  ${pad(oneLine(title), forTitle)}  ${paint.dim(rightText)}`
    : `  ${name}  ${cut(oneLine(title), width - indent)}`;
  const more: Line[] = isBeside || rightText === '' ? [...below] : [{ text: rightText }, ...below];
  return [first, ...more.flatMap((line) => lineRows(line, indent, frame))];
}

function lineRows({ text, style = 'dim', maxLines = 1, ...line }: Line, indent: number, frame: Frame): string[] {
  const margin = ' '.repeat(indent);
  if (line.isCommand) return [`${margin}${frame.paint[style](text)}`];
  const bar = line.isQuoted ? '│ ' : '';
  const rows = wrap(oneLine(text), Math.max(20, frame.width - indent) - bar.length, maxLines);
  return rows.map((row) => `${margin}${frame.paint[style](`${bar}${row}`)}`);
}

export function runningList({ running }: Pick<StateView, 'running'>, frame: Frame): string[] {
  const entries = running.map((run) => runningEntry(run, frame));
  const asking = running.filter((run) => run.asking).length;
  const note = asking === 0 ? {} : { note: asking === 1 ? '1 asks' : `${asking} ask` };
  return section('Running', entries, frame, { lines: 20, style: 'green', ...note });
}

/** In the order of their start. A reason that all share is shown once, in the heading. */
export function nextList({ ready }: Pick<StateView, 'ready'>, frame: Frame): string[] {
  const reasons = new Set(ready.map(({ why }) => why));
  const [shared] = reasons.size === 1 ? reasons : [];
  const note = shared ? { note: localiseTimes(shared, frame.nowMs) } : {};
  const entries = ready.map((one) => readyEntry(one, reasons.size > 1, frame));
  return section('Next', entries, frame, { lines: 10, ...note });
}

/** Without those that are due: they are in the list of the next ones. */
export function waitingList({ retrying, ready }: Pick<StateView, 'retrying' | 'ready'>, frame: Frame): string[] {
  const inLine = new Set(ready.map(({ issue_id }) => issue_id));
  const entries = retrying.filter(({ issue_id }) => !inLine.has(issue_id)).map((one) => waitingEntry(one, frame));
  return section('Waiting', entries, frame, { lines: 10 });
}

/** Without those that need an answer: they are at the top. Without a daemon no command to retry is shown. */
export function parkedList({ parked }: Pick<StateView, 'parked'>, frame: Frame, hasDaemon = true): string[] {
  const entries = parked.filter(({ question }) => question === null).map((one) => parkedEntry(one, frame, hasDaemon));
  return section('Parked', entries, frame, { lines: 12, style: 'yellow' });
}

export function doneList({ done }: Pick<StateView, 'done'>, frame: Frame): string[] {
  return section(
    'Done since yesterday',
    done.map((one) => doneEntry(one, frame)),
    frame,
    { lines: 10 },
  );
}

function runningEntry(run: RunningView, { nowMs }: Frame): Entry {
  const running = formatAge(run.started_at, nowMs);
  const sign = formatAge(run.last_event_at, nowMs);
  const right = [...(running === null ? [] : [running]), formatBudget(run.budget)].join(' · ');
  return { ...namesOf(run), right, below: [{ text: doing(run, sign === null ? null : `${sign} ago`), maxLines: 2 }] };
}

function doing(run: RunningView, ago: string | null): string {
  const age = ago === null ? '' : ` · ${ago}`;
  if (run.stopping !== null) return `is being stopped (${run.stopping})${age}`;
  if (run.asking) return `waits for an answer, see above${age}`;
  const probe = run.probe ? 'probes whether the hold is over, ' : '';
  // The start of the turn needs no separate sentence.
  if (run.last_message_event === 'session_started')
    return `${probe}${where(run)} began${ago === null ? '' : ` ${ago}`}, no event since`;
  const activity = run.last_message === null ? '' : `: ${run.last_message}`;
  return `${probe}${where(run)}${activity}${age}`;
}

function where({ phase, step, turn_count }: RunningView): string {
  if (phase === null) return 'is being resumed after a restart';
  if (phase === 'claiming') return 'is about to start';
  if (phase === 'preparing') return 'prepares its workspace';
  if (phase === 'finishing') return 'finishes';
  const turn = turn_count === 0 ? [] : [`turn ${turn_count}`];
  const parts = step === null ? turn : [`step ${step.id} (${step.kind})`, ...turn];
  return parts.length === 0 ? 'works' : parts.join(', ');
}

function readyEntry({ why, retry, priority, ...one }: ReadyView, showWhy: boolean, { nowMs }: Frame): Entry {
  const right = [...(priority === null ? [] : [`priority ${priority}`]), ...(retry ? ['again'] : [])].join(', ');
  const below = showWhy ? [{ text: why === null ? 'starts now' : localiseTimes(why, nowMs) }] : [];
  return { ...namesOf(one), right, below };
}

function waitingEntry(one: RetryingView, { nowMs }: Frame): Entry {
  const due = formatTimeLeft(one.due_at, nowMs);
  const when = due === null ? 'due' : `in ${due}`;
  const count =
    one.failures > 0
      ? `${one.failures} failed in a row`
      : one.runs_without_progress > 0
        ? `${one.runs_without_progress} without progress`
        : '';
  const right = [`${one.reason} ${when}`, ...(count === '' ? [] : [count])].join(' · ');
  const code = one.error_code === null ? '' : `${one.error_code}: `;
  const text = one.error_code === 'no_slot' ? WAITS_FOR_SLOT : `${code}${one.error}`;
  return { ...namesOf(one), right, below: one.error === null ? [] : [{ text, maxLines: 2 }] };
}

function parkedEntry(one: ParkedView, frame: Frame, hasDaemon: boolean): Entry {
  const age = formatAge(one.since, frame.nowMs);
  const right = `${one.reason}${age === null ? '' : ` · ${age} ago`}`;
  const message: Line = { text: localiseTimes(one.message, frame.nowMs), maxLines: 2 };
  return { ...namesOf(one), right, below: [message, ...(hasDaemon ? continuesWhen(one, frame) : [])] };
}

const CHANGES: { readonly [reason: string]: string } = {
  budget: 'when agent.max_tokens_per_issue is raised',
  configuration: 'when the issue or the workflow changes',
};

/** What makes a parked issue continue. */
function continuesWhen({ reason, issue_identifier, keeps_slot }: ParkedView, frame: Frame): Line[] {
  const first = keeps_slot ? 'once its process has ended: ' : '';
  const change = CHANGES[reason] ?? 'when the issue changes';
  return [{ text: `${first}${change}, or: ${commandFor(frame, 'retry', issue_identifier)}`, isCommand: true }];
}

function doneEntry(
  { finished_at, terminal, state, runs, tokens, after_run_failed, ...one }: DoneView,
  frame: Frame,
): Entry {
  const { nowMs } = frame;
  const age = formatAge(finished_at, nowMs);
  const cost = `${runs === 1 ? '1 run' : `${runs} runs`}, ${formatTokens(tokens)} tokens`;
  const right = [...(terminal ? [] : [`now ${state}`]), cost, ...(age === null ? [] : [`${age} ago`])].join(' · ');
  const below: Line[] = after_run_failed ? [{ text: AFTER_RUN_FAILED, style: 'red' }] : [];
  const mark = after_run_failed ? '✗' : terminal ? '✓' : '→';
  return { ...namesOf(one), title: `${mark} ${one.title}`, right, below };
}

function namesOf(one: { readonly issue_identifier: string; readonly title: string }) {
  return { identifier: one.issue_identifier, title: one.title };
}

const QUESTION_LINES = 4;

type Needs = Pick<StateView, 'asking' | 'parked' | 'holds'>;

/** What waits for a person: holds of the daemon, runs with a question, and issues that were parked with a question. */
export function needsYou(view: Needs, frame: Frame): string[] {
  const holds = view.holds.filter(needsPerson).map((hold) => holdEntry(hold, frame));
  return section('Needs you', [...holds, ...questionEntries(view, frame, true)], frame, { lines: 24, style: 'yellow' });
}

/** The same without a daemon, which would take the answer. */
export function storedNeedsYou(view: Pick<Needs, 'asking' | 'parked'>, frame: Frame): string[] {
  const note = 'start the daemon to answer';
  return section('Needs you', questionEntries(view, frame, false), frame, { lines: 24, style: 'yellow', note });
}

/** The number of entries that need a person. */
export function countNeeds({ asking, parked, holds }: Needs): number {
  return asking.length + parked.filter(({ question }) => question !== null).length + holds.filter(needsPerson).length;
}

/** The daily budget resets by itself. */
export function needsPerson({ source }: HoldView): boolean {
  return source !== 'budget';
}

function holdEntry({ code, message, action, since: from, until: to, tries }: HoldView, { nowMs }: Frame): Entry {
  const held = formatAge(from, nowMs);
  const next = formatTimeLeft(to, nowMs);
  const right = [
    ...(held === null ? [] : [`for ${held}`]),
    ...(tries === 0 ? [] : [`${tries === 1 ? 'one try' : `${tries} tries`} failed`]),
    ...(next === null ? [] : [`retried in ${next}`]),
  ];
  const text = `${withStop(message)} ${withStop(action)}`.trim();
  return {
    identifier: 'On hold',
    title: code,
    right: right.join(', '),
    below: [{ text, style: 'red', maxLines: 4 }],
  };
}

function questionEntries({ asking, parked }: Pick<Needs, 'asking' | 'parked'>, frame: Frame, hasDaemon: boolean) {
  return [
    ...asking.map((one) => askingEntry(one, frame, hasDaemon)),
    ...parked.flatMap((one) => parkedQuestionEntry(one, frame, hasDaemon)),
  ];
}

function askingEntry(
  { issue_identifier, title, questions, ...asking }: AskingView,
  frame: Frame,
  hasDaemon: boolean,
): Entry {
  const { nowMs } = frame;
  const asked = formatAge(asking.asked_at, nowMs);
  const left = formatTimeLeft(asking.answer_until, nowMs);
  const then = asking.on_timeout === 'park' ? 'parked' : 'declined';
  const right = [...(asked === null ? [] : [`asked ${asked} ago`]), ...(left === null ? [] : [`${then} in ${left}`])];
  const below = questions.flatMap((question) => [
    ...quoted(question, frame),
    ...(hasDaemon ? [howToAnswer(issue_identifier, question, questions.length > 1, frame)] : []),
  ]);
  return { identifier: issue_identifier, title, right: right.join(', '), below };
}

function parkedQuestionEntry({ question, ...one }: ParkedView, frame: Frame, hasDaemon: boolean): Entry[] {
  if (question === null) return [];
  const parked = formatAge(one.since, frame.nowMs);
  const right = parked === null ? 'parked' : `parked ${parked} ago`;
  const hint = hasDaemon ? [howToAnswer(one.issue_identifier, question, false, frame)] : [];
  return [{ identifier: one.issue_identifier, title: one.title, right, below: [...quoted(question, frame), ...hint] }];
}

/** The command that answers; the user replaces the parts in angle brackets. */
function howToAnswer(identifier: string, question: QuestionView, isOneOfSeveral: boolean, frame: Frame): Line {
  const { kind, fields, id } = question;
  const which = isOneOfSeveral ? ` --question ${shellWord(id)}` : '';
  const command = (flags: string, answer = '') =>
    commandFor(frame, 'answer', identifier, { answer, flags: `${flags}${which}` });
  if (question.is_cut) return { text: command(' --decline'), style: 'cyan', isCommand: true };
  if (kind === 'approval' || fields.length === 0)
    return { text: `${command(' --accept')}  (or --decline)`, style: 'cyan', isCommand: true };
  const flags = fields.map((field) => ` --field ${shellWord(field.id)}='<answer>'`).join('');
  return { text: fields.length === 1 ? command('', " '<answer>'") : command(flags), style: 'cyan', isCommand: true };
}

/** The first lines of a question and its fields; on a small screen one line. */
function quoted(question: QuestionView, frame: Frame): Line[] {
  const lines = questionLines(question);
  const rows = lines.text.map((row) => row.trim()).filter((row) => row !== '');
  const asLine = (text: string): Line => ({ text, style: 'bold', maxLines: 2, isQuoted: true });
  if (linesOf(QUESTION_LINES, frame) < QUESTION_LINES) return [asLine([...rows, ...lines.fields].join(' · '))];
  const left = rows.length - QUESTION_LINES;
  const more: Line[] = left > 0 ? [{ text: `… and ${left} more lines`, isQuoted: true }] : [];
  const fields = lines.fields.map((text): Line => ({ text, maxLines: 2, isQuoted: true }));
  return [...rows.slice(0, QUESTION_LINES).map(asLine), ...more, ...fields];
}

const MAX_REASONS = 3;

/** Grouped by the first reason of each, the most frequent first. */
export function ineligibleList({ ineligible }: Pick<StateView, 'ineligible'>, frame: Frame): string[] {
  if (ineligible.length === 0) return [];
  const groups = [...byReason(ineligible)].sort(([, a], [, b]) => b.length - a.length);
  const shown = frame.all ? groups : groups.slice(0, linesOf(MAX_REASONS, frame));
  const left = groups.length - shown.length;
  return [
    `Not eligible (${ineligible.length})`,
    ...shown.flatMap(([why, issues]) => groupRows(why, issues, frame)),
    ...(left === 0 ? [] : [`  … and ${left === 1 ? 'one more reason' : `${left} more reasons`} (--all)`]),
    `All rules of an issue: ${commandFor(frame, 'explain', '<issue>')}`,
  ].map(frame.paint.dim);
}

function byReason(ineligible: StateView['ineligible']): Map<string, StateView['ineligible']> {
  const groups = new Map<string, StateView['ineligible']>();
  for (const issue of ineligible) {
    const why = oneLine(issue.reasons[0]?.why ?? 'no reason');
    const group = groups.get(why);
    if (group) group.push(issue);
    else groups.set(why, [issue]);
  }
  return groups;
}

function groupRows(why: string, issues: StateView['ineligible'], { all, width, nowMs }: Frame): string[] {
  const names = issues.map(({ issue_identifier }) => oneLine(issue_identifier)).join(', ');
  const many = issues.length === 1 ? '' : ` (${issues.length})`;
  const text = `${localiseTimes(why, nowMs)}${many}: ${names}`;
  if (!all) return [`  ${cut(text, width - 2)}`];
  return wrap(text, width - 4, Number.POSITIVE_INFINITY).map((row, at) => `${at === 0 ? '  ' : '    '}${row}`);
}
