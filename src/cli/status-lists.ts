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
import { shellWord } from '../domain/shell-word.js';
import { formatBudget, formatTokens } from '../text/format-numbers.js';
import { formatAge, formatTimeLeft, localiseTimes } from '../text/format-time.js';
import { cut, oneLine, withStop, wrap } from '../text/terminal-text.js';
import { questionLines } from './answer.js';
import { commandFor, type Entry, type Frame, type Line, linesOf, section } from './terminal.js';

export function runningList({ running }: Pick<StateView, 'running'>, frame: Frame): string[] {
  const entries = running.map((run) => runningEntry(run, frame));
  const asking = running.filter((run) => run.asking).length;
  const note = asking === 0 ? {} : { note: asking === 1 ? '1 asks' : `${asking} ask` };
  return section('Running', entries, frame, { lines: 20, style: 'green', ...note });
}

/** In the order in which they will start. What keeps all of them is said once. */
export function nextList({ ready }: Pick<StateView, 'ready'>, frame: Frame): string[] {
  const reasons = new Set(ready.map(({ why }) => why));
  const [shared] = reasons.size === 1 ? reasons : [];
  const note = shared ? { note: localiseTimes(shared, frame.nowMs) } : {};
  const entries = ready.map((one) => readyEntry(one, reasons.size > 1, frame));
  return section('Next', entries, frame, { lines: 10, ...note });
}

/** One that is due is in line, and told there. */
export function waitingList({ retrying, ready }: Pick<StateView, 'retrying' | 'ready'>, frame: Frame): string[] {
  const inLine = new Set(ready.map(({ issue_id }) => issue_id));
  const entries = retrying.filter(({ issue_id }) => !inLine.has(issue_id)).map((one) => waitingEntry(one, frame));
  return section('Waiting', entries, frame, { lines: 10 });
}

/** Without those that need an answer: they stand on top. `hasDaemon`: there is one that could be told to retry. */
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
  if (run.asking) return `asks, see above${age}`;
  const probe = run.probe ? 'probes whether the hold is over, ' : '';
  // Nothing came after the beginning of the turn, which is known already.
  if (TURN_BEGAN.test(run.last_message ?? ''))
    return `${probe}${where(run)} began${ago === null ? '' : ` ${ago}`}, nothing heard since`;
  const said = run.last_message === null ? '' : `: ${run.last_message}`;
  return `${probe}${where(run)}${said}${age}`;
}

const TURN_BEGAN = /^(?:turn \d+|a turn) began$/;

function where({ phase, step, turn_count }: RunningView): string {
  if (phase === null) return 'is being looked after since a restart';
  if (phase === 'claiming') return 'is about to start';
  if (phase === 'preparing') return 'prepares its workspace';
  if (phase === 'finishing') return 'finishes';
  const turn = turn_count === 0 ? [] : [`turn ${turn_count}`];
  const parts = step === null ? turn : [`step ${step.id} (${step.kind})`, ...turn];
  return parts.length === 0 ? 'works' : parts.join(', ');
}

function readyEntry({ why, retry, priority, ...one }: ReadyView, tellWhy: boolean, { nowMs }: Frame): Entry {
  const right = [...(priority === null ? [] : [`priority ${priority}`]), ...(retry ? ['again'] : [])].join(', ');
  const below = tellWhy ? [{ text: why === null ? 'starts now' : localiseTimes(why, nowMs) }] : [];
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
  return { ...namesOf(one), right, below: one.error === null ? [] : [{ text: `${code}${one.error}`, maxLines: 2 }] };
}

function parkedEntry(one: ParkedView, frame: Frame, hasDaemon: boolean): Entry {
  const age = formatAge(one.since, frame.nowMs);
  const right = `${one.reason}${age === null ? '' : ` · ${age} ago`}`;
  const message: Line = { text: localiseTimes(one.message, frame.nowMs), maxLines: 2 };
  return { ...namesOf(one), right, below: [message, ...(hasDaemon ? freedBy(one, frame) : [])] };
}

/** What a person can do about it. The end is to be copied. */
function freedBy({ reason, issue_identifier, keeps_slot }: ParkedView, frame: Frame): Line[] {
  if (reason === 'configuration') return [{ text: 'goes on when the workflow changes' }];
  const first = keeps_slot ? 'once its process has ended: ' : '';
  const change = reason === 'budget' ? 'when agent.max_tokens_per_issue is raised' : 'when the issue changes';
  return [{ text: `${first}${change}, or: ${commandFor(frame, 'retry', issue_identifier)}`, isCommand: true }];
}

function doneEntry({ finished_at, terminal, state, runs, tokens, ...one }: DoneView, { nowMs }: Frame): Entry {
  const age = formatAge(finished_at, nowMs);
  const cost = `${runs === 1 ? '1 run' : `${runs} runs`}, ${formatTokens(tokens)} tokens`;
  const right = [...(terminal ? [] : [`now ${state}`]), cost, ...(age === null ? [] : [`${age} ago`])].join(' · ');
  return { ...namesOf(one), title: `${terminal ? '✓' : '→'} ${one.title}`, right, below: [] };
}

function namesOf(one: { readonly issue_identifier: string; readonly title: string }) {
  return { identifier: one.issue_identifier, title: one.title };
}

const QUESTION_LINES = 4;

type Needs = Pick<StateView, 'asking' | 'parked' | 'holds'>;

/** What waits for a person: a hold of the whole daemon, runs that ask, and issues that were parked with a question which can be answered. */
export function needsYou(view: Needs, frame: Frame): string[] {
  const holds = view.holds.filter(needsPerson).map((hold) => holdEntry(hold, frame));
  return section('Needs you', [...holds, ...questionEntries(view, frame, true)], frame, { lines: 24, style: 'yellow' });
}

/** The same while no daemon is there that could be given an answer. */
export function storedNeedsYou(view: Pick<Needs, 'asking' | 'parked'>, frame: Frame): string[] {
  const note = 'start the daemon to answer';
  return section('Needs you', questionEntries(view, frame, false), frame, { lines: 24, style: 'yellow', note });
}

/** How many entries that are. Issues that are parked without a question are told as parked. */
export function countNeeds({ asking, parked, holds }: Needs): number {
  return asking.length + parked.filter(({ question }) => question !== null).length + holds.filter(needsPerson).length;
}

/** The budget of the day comes back by itself. */
export function needsPerson({ source }: HoldView): boolean {
  return source !== 'budget';
}

function holdEntry({ code, message, action, since: from, until: to, tries }: HoldView, { nowMs }: Frame): Entry {
  const held = formatAge(from, nowMs);
  const next = formatTimeLeft(to, nowMs);
  const right = [
    ...(held === null ? [] : [`for ${held}`]),
    ...(tries === 0 ? [] : [`${tries === 1 ? 'one try' : `${tries} tries`} in vain`]),
    ...(next === null ? [] : [`tried again in ${next}`]),
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
    ...parked.flatMap((one) => parkedEntryNeedsYou(one, frame, hasDaemon)),
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

function parkedEntryNeedsYou({ question, ...one }: ParkedView, frame: Frame, hasDaemon: boolean): Entry[] {
  if (question === null) return [];
  const parked = formatAge(one.since, frame.nowMs);
  const right = parked === null ? 'parked' : `parked ${parked} ago`;
  const hint = hasDaemon ? [howToAnswer(one.issue_identifier, question, false, frame)] : [];
  return [{ identifier: one.issue_identifier, title: one.title, right, below: [...quoted(question, frame), ...hint] }];
}

/** To be copied; what is between angle brackets is for the person to say. */
function howToAnswer(identifier: string, question: QuestionView, isOneOfSeveral: boolean, frame: Frame): Line {
  const { kind, fields, id } = question;
  const which = isOneOfSeveral ? ` --question ${shellWord(id)}` : '';
  const command = (answer: string) => commandFor(frame, 'answer', identifier, `${answer}${which}`);
  if (kind === 'approval' || fields.length === 0)
    return { text: `${command(' --accept')}  (or --decline)`, style: 'cyan', isCommand: true };
  const flags = fields.map((field) => ` --field ${shellWord(field.id)}='<answer>'`).join('');
  return { text: command(fields.length === 1 ? " '<answer>'" : flags), style: 'cyan', isCommand: true };
}

/** The first lines of a question, and its blanks; on a small screen as little of it as tells what it is about. */
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

const MOST_REASONS = 3;

/** They are many, and most are none of our business: by the first reason of each, what keeps most of them first. */
export function ineligibleList({ ineligible }: Pick<StateView, 'ineligible'>, frame: Frame): string[] {
  if (ineligible.length === 0) return [];
  const groups = [...byReason(ineligible)].sort(([, a], [, b]) => b.length - a.length);
  const shown = frame.all ? groups : groups.slice(0, linesOf(MOST_REASONS, frame));
  const left = groups.length - shown.length;
  return [
    `Not eligible (${ineligible.length})`,
    ...shown.flatMap(([why, issues]) => groupRows(why, issues, frame)),
    ...(left === 0 ? [] : [`  … and ${left === 1 ? 'one more reason' : `${left} more reasons`} (--all)`]),
    `Every rule of one: ${commandFor(frame, 'explain', '<issue>')}`,
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
