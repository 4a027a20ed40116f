import type { HoldView, StateView } from '../api/schemas.js';
import type { LockHolder } from '../store/instance-lock.js';
import { formatBudget } from '../text/format-numbers.js';
import { formatAge, formatDuration, formatMoment, formatTimeLeft, localiseTimes } from '../text/format-time.js';
import { cut, joinFacts, oneLine, withCommand, withStop, wrap } from '../text/terminal-text.js';
import {
  commandFor,
  countNeeds,
  doneList,
  type Entry,
  type Frame,
  ineligibleList,
  needsPerson,
  needsYou,
  nextList,
  parkedList,
  runningList,
  section,
  storedNeedsYou,
  waitingList,
} from './status-lists.js';

/** The state of a daemon: issues that need a person first, then running, next and finished ones. Pure. */
export function renderStatus(view: StateView, frame: Frame): string {
  const blocks = [
    statusHeader(view, frame),
    needsYou(view, frame),
    runningList(view, frame),
    nextList(view, frame),
    waitingList(view, frame),
    parkedList(view, frame),
    doneList(view, frame),
    ineligibleList(view, frame),
  ];
  return joinBlocks(blocks);
}

/** Separates the blocks by empty lines and drops empty ones. */
function joinBlocks(parts: readonly (readonly string[])[]): string {
  const blocks = parts
    .filter((lines) => lines.length > 0)
    .map((lines) => lines.map((line) => line.trimEnd()).join('\n'));
  return blocks.length === 0 ? '' : `${blocks.join('\n\n')}\n`;
}

/** Wraps a text and indents all rows but the first, so that no text of a tracker or an agent begins a row. */
function paragraph(text: string, { width, maxLines, paint, margin = '' }: ParagraphOptions): string[] {
  const rows = wrap(oneLine(text), width - margin.length - INDENT.length, maxLines);
  return rows.map((row, at) => `${margin}${at === 0 ? '' : INDENT}${paint(row)}`);
}

interface ParagraphOptions {
  readonly width: number;
  readonly maxLines: number;
  readonly paint: (text: string) => string;
  readonly margin?: string;
}

const INDENT = '  ';

/** The daemon, its numbers, and everything that prevents it from working. */
function statusHeader(view: StateView, frame: Frame): string[] {
  const { paint, width } = frame;
  return [
    paint.bold(cut(oneLine(view.workflow.path), width)),
    ...joinFacts(countWords(view), width),
    ...joinFacts(facts(view, frame), width).map(paint.dim),
    ...paused(view, frame).map(paint.yellow),
    ...[...troubles(view, frame.nowMs), ...workflowTroubles(view)].flatMap(({ text, isBad, margin = '' }) =>
      paragraph(text, { width, maxLines: 4, paint: paint[isBad ? 'red' : 'yellow'], margin }),
    ),
    ...held(view, frame),
    ...whyIdle(view, frame).flatMap((text) => paragraph(text, { width, maxLines: 4, paint: paint.yellow })),
  ];
}

function facts({ daemon, slots, tokens_today, poll }: StateView, { nowMs }: Frame): string[] {
  const up = formatAge(daemon.started_at, nowMs);
  const read = formatAge(poll.last, nowMs);
  return [
    `pid ${daemon.pid}${up === null ? '' : `, up ${up}`}`,
    `${slots.taken} of ${slots.limit} slots taken`,
    `${formatBudget(tokens_today)} today`,
    ...(poll.health === 'ok' && read !== null ? [`tracker read ${read} ago`] : []),
  ];
}

interface Trouble {
  readonly text: string;
  readonly isBad: boolean;
  readonly margin?: string;
}

function paused({ paused: pause }: StateView, frame: Frame): string[] {
  if (pause === null) return [];
  const text = `Paused for ${formatAge(pause.since, frame.nowMs) ?? '?'}: no run is started. To resume:`;
  return withCommand(text, commandFor(frame, 'resume', null), frame.width);
}

function troubles(view: StateView, nowMs: number): Trouble[] {
  const { poll, holds, shutting_down } = view;
  const found: Trouble[] = [];
  const bad = (text: string) => void found.push({ text, isBad: true });
  const note = (text: string) => void found.push({ text, isBad: false });
  if (shutting_down) note('Shutting down: runs are being stopped.');
  if (view.daemon.isolation === 'none')
    note('Runs are not isolated: agents can read the state and the token of this daemon. To see why: baton check');
  // The other holds are in the list of what needs a person.
  for (const hold of holds.filter((one) => !needsPerson(one))) bad(holdText(hold, nowMs));
  if (poll.health === 'never' && poll.error === null) note('The tracker has not been read yet.');
  if (poll.health === 'failed' || poll.error !== null) bad(pollText(view, nowMs));
  if (poll.slowed_to_ms !== null)
    note(
      `The quota of the tracker runs low: it is read every ${formatDuration(poll.slowed_to_ms)} until the quota is reset.`,
    );
  if (poll.problems.length > 0)
    note(
      poll.problems.length === 1
        ? `One problem in the tracker: ${poll.problems[0]}`
        : `${poll.problems.length} problems in the tracker: ${poll.problems[0]}; …`,
    );
  return found;
}

/** One line for each problem. An unknown key is listed with the faults, because it can explain a missing one. */
function workflowTroubles({ workflow }: StateView): Trouble[] {
  const { error, restart_required: changed, restart_error: refused } = workflow;
  const keys = changed.join(', ');
  const waiting = { text: `Changed, and in effect once no run is active: ${keys}`, isBad: false };
  const unusable = { text: `${keys} cannot be used, the old values stay: ${refused?.message}`, isBad: true };
  return [
    ...(error === null ? [] : errorTroubles(error)),
    ...(changed.length === 0 ? [] : [refused === null ? waiting : unusable]),
  ];
}

function held({ workflow }: StateView, frame: Frame): string[] {
  const { width, paint, nowMs } = frame;
  if (workflow.held === null) return [];
  const { changes, since, diff } = workflow.held;
  const text = `The file has changes that wait for ${formatAge(since, nowMs) ?? '?'}, and the settings before them stay in effect: ${changes.join('; ')}`;
  const look = withCommand('To look at them and allow them:', commandFor(frame, 'allow', null), width);
  const lines = diff === '' ? [] : diff.split('\n');
  const shown = lines.slice(0, MAX_DIFF_LINES).map((line) => paint.dim(cut(`  ${oneLine(line)}`, width)));
  const rest = lines.length > MAX_DIFF_LINES ? [paint.dim(`  … and ${lines.length - MAX_DIFF_LINES} lines more`)] : [];
  return [
    ...paragraph(text, { width, maxLines: 6, paint: paint.yellow }),
    ...shown,
    ...rest,
    ...look.map(paint.yellow),
  ];
}

const MAX_DIFF_LINES = 20;

function errorTroubles({ code, message, problems }: NonNullable<StateView['workflow']['error']>): Trouble[] {
  const lines = problems.length > 0 ? problems : message.split('\n').map((text) => ({ code, text }));
  return [
    { text: `The file is invalid, so the previous settings stay in effect (${code}):`, isBad: true },
    ...lines.map(({ code, text }) =>
      code === 'unknown_key'
        ? { text: `warning: ${text}`, isBad: false, margin: '  ' }
        : { text, isBad: true, margin: '  ' },
    ),
  ];
}

function holdText({ code, message, action, since: from, until: to, tries }: HoldView, nowMs: number): string {
  const next = formatTimeLeft(to, nowMs);
  const tried = tries === 0 ? '' : `, ${tries === 1 ? 'one try' : `${tries} tries`} failed`;
  const then = next === null ? '' : ` The next try is in ${next}.`;
  return `On hold for ${formatAge(from, nowMs) ?? '?'} (${code}${tried}): ${withStop(message)} ${withStop(action)}${then}`;
}

function pollText({ poll }: StateView, nowMs: number): string {
  const failing = formatAge(poll.failing_since, nowMs);
  const next = formatTimeLeft(poll.next, nowMs);
  const code = poll.error_code === null ? '' : ` (${poll.error_code})`;
  const then = next === null ? '' : ` The next try is in ${next}.`;
  return `The tracker could not be read${failing === null ? '' : ` for ${failing}`}${code}: ${withStop(poll.error ?? '')}${then}`;
}

/** A hold, a pause and the trouble of the tracker are shown above. */
function whyIdle(
  { why_idle, why_idle_reason: reason, holds, paused: pause, poll }: StateView,
  { nowMs }: Frame,
): string[] {
  if (why_idle === null) return [];
  const params: { readonly rule?: unknown; readonly hold?: unknown } = reason?.params ?? {};
  const rule = String(params.rule ?? '');
  const isShown =
    (holds.length > 0 && (rule.startsWith('no_hold_') || rule === 'probe_turn' || typeof params.hold === 'string')) ||
    (pause !== null && rule === 'not_paused') ||
    (poll.health !== 'ok' && (rule === 'tracker_readable' || rule === 'tracker_read'));
  return isShown ? [] : [`Nothing happens: ${inSentence(localiseTimes(why_idle, nowMs))}`];
}

/** Sentences of the daemon begin with a capital, unless an identifier is their first word. */
function inSentence(text: string): string {
  return text.replace(/^(?:No|On|One|Paused|The)\b/, (word) => word.toLowerCase());
}

/** The number of entries of each list. Zeros are left out, apart from `0 running`. */
function countWords(view: StateView): string[] {
  const { counts } = view;
  const inLine = new Set(view.ready.map(({ issue_id }) => issue_id));
  const running = counts.running - counts.asking;
  const needs = countNeeds(view);
  const words: readonly (readonly [number, string])[] = [
    [needs, needs === 1 ? 'needs you' : 'need you'],
    [running, 'running'],
    [counts.asking, 'asking'],
    [counts.ready, 'next'],
    [view.retrying.filter(({ issue_id }) => !inLine.has(issue_id)).length, 'waiting'],
    [view.parked.filter(({ question }) => question === null).length, 'parked'],
    [counts.done, 'done'],
  ];
  const isQuiet = running === 0 && counts.asking === 0;
  return words
    .filter(([count, word]) => count > 0 || (isQuiet && word === 'running'))
    .map(([n, word]) => `${n} ${word}`);
}

/** The stored state of a daemon that is not running. */
export interface StoredView extends Pick<StateView, 'asking' | 'retrying' | 'parked' | 'done'> {
  /** They continue when a daemon is started. */
  readonly interrupted: readonly { readonly identifier: string; readonly title: string; readonly number: number }[];
  readonly holds: readonly { readonly code: string; readonly message: string }[];
  readonly pausedSince: string | null;
}

interface StoredFacts {
  /** The workflow or the state directory. */
  readonly path: string;
  /** Null when nothing is stored. */
  readonly storedAtMs: number | null;
  /** The command that starts the daemon. */
  readonly start: string;
}

/** The stored state, while no daemon is running. Pure. */
export function renderStored(view: StoredView, facts: StoredFacts, frame: Frame): string {
  return joinBlocks([
    storedHeader(view, facts, frame),
    storedNeedsYou(view, frame),
    section('Interrupted', view.interrupted.map(interruptedEntry), frame, {
      lines: 10,
      note: 'they continue when the daemon is started',
    }),
    waitingList({ ...view, ready: [] }, frame),
    parkedList(view, frame, false),
    doneList(view, frame),
  ]);
}

function storedHeader({ holds, pausedSince }: StoredView, facts: StoredFacts, frame: Frame): string[] {
  const { paint, width, nowMs } = frame;
  const what =
    facts.storedAtMs === null
      ? 'No daemon is running, and none has stored anything here.'
      : `No daemon is running; this is what was stored at ${formatMoment(facts.storedAtMs, nowMs)}.`;
  const paused = `Paused for ${formatAge(pausedSince, nowMs) ?? '?'}; a start does not end this. To resume:`;
  return [
    paint.bold(cut(oneLine(facts.path), width)),
    ...wrap(what, width, 2).map(paint.yellow),
    ...[`To start it: ${oneLine(facts.start)}`].map(paint.dim),
    ...(pausedSince === null ? [] : withCommand(paused, commandFor(frame, 'resume', null), width).map(paint.yellow)),
    ...holds.flatMap(({ code, message }) =>
      paragraph(`It was on hold (${code}): ${message}`, { width, maxLines: 3, paint: paint.red }),
    ),
  ];
}

function interruptedEntry({ identifier, title, number }: StoredView['interrupted'][number]): Entry {
  return { identifier, title, right: `run ${number}`, below: [] };
}

/** A daemon of this user, and its state or why it gave none. */
export interface DaemonStatus {
  readonly holder: LockHolder;
  readonly answer: StateView | { readonly error: string };
}

/** A few lines for each. Pure. */
export function renderDaemons(daemons: readonly DaemonStatus[], frame: Frame): string {
  if (daemons.length === 0) {
    return `No daemon of yours is running, and there is no WORKFLOW.md in this folder.\nTo make one: baton init\n`;
  }
  const blocks = daemons.map((one) => daemonLines(one, frame).join('\n'));
  return `${[...blocks, `More about a daemon: baton status <workflow>`].join('\n\n')}\n`;
}

function daemonLines({ holder, answer }: DaemonStatus, { nowMs, width, paint }: Frame): string[] {
  const up = formatAge(holder.since, nowMs);
  const pid = `pid ${holder.pid}${up === null ? '' : `, up ${up}`}`;
  const path = paint.bold(cut(oneLine(holder.workflow), width));
  const detail = (text: string, style: 'yellow' | 'red') =>
    paragraph(text, { width, maxLines: 3, paint: paint[style], margin: '  ' });
  if ('error' in answer) return [path, ...detail(`${pid}; its status is unknown: ${answer.error}`, 'red')];
  const style = countNeeds(answer) > 0 ? 'yellow' : 'dim';
  const facts = joinFacts([...countWords(answer), pid], width - 2).map((row) => `  ${paint[style](row)}`);
  const why = whyNothing(answer, nowMs);
  return [path, ...facts, ...(why === null ? [] : detail(why, 'yellow'))];
}

function whyNothing({ why_idle, hold, paused }: StateView, nowMs: number): string | null {
  if (why_idle !== null) return localiseTimes(why_idle, nowMs);
  if (hold !== null) return `On hold (${hold.code}): ${hold.message}`;
  return paused === null ? null : 'Paused: nothing new is started.';
}
