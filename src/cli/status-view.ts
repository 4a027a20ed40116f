import type { HoldView, StateView } from '../api/schemas.js';
import type { LockHolder } from '../store/instance-lock.js';
import { formatBudget } from '../text/format-numbers.js';
import { formatAge, formatDuration, formatMoment, formatTimeLeft, localiseTimes } from '../text/format-time.js';
import { cut, joinFacts, oneLine, withCommand, withStop, wrap } from '../text/terminal-text.js';
import type { StoredView } from './status.js';
import {
  countNeeds,
  doneList,
  ineligibleList,
  needsPerson,
  needsYou,
  nextList,
  parkedList,
  runningList,
  storedNeedsYou,
  waitingList,
} from './status-lists.js';
import { commandFor, type Entry, type Frame, section } from './terminal.js';

/** The state of a daemon for a person at a terminal: who needs them first, then what happens, what comes, what was. Pure. */
export function renderStatus(view: StateView, frame: Frame): string {
  const parts = [
    statusHeader(view, frame),
    needsYou(view, frame),
    runningList(view, frame),
    nextList(view, frame),
    waitingList(view, frame),
    parkedList(view, frame),
    doneList(view, frame),
    ineligibleList(view, frame),
  ];
  return together(parts);
}

/** Parts that say something, with an empty line between them. */
function together(parts: readonly (readonly string[])[]): string {
  const blocks = parts
    .filter((lines) => lines.length > 0)
    .map((lines) => lines.map((line) => line.trimEnd()).join('\n'));
  return blocks.length === 0 ? '' : `${blocks.join('\n\n')}\n`;
}

/** Which daemon this is and how it is, and everything that keeps it as a whole from working. */
function statusHeader(view: StateView, frame: Frame): string[] {
  const { paint, width } = frame;
  return [
    paint.bold(cut(oneLine(view.workflow.path), width)),
    ...joinFacts(countWords(view), width),
    ...joinFacts(facts(view, frame), width).map(paint.dim),
    ...paused(view, frame).map(paint.yellow),
    ...[...troubles(view, frame.nowMs), ...workflowTroubles(view)].flatMap(({ text, isBad, margin = '' }) =>
      wrap(oneLine(text), width - margin.length, 4).map((row) => `${margin}${paint[isBad ? 'red' : 'yellow'](row)}`),
    ),
    ...whyIdle(view, frame).flatMap((text) => wrap(oneLine(text), width, 4).map(paint.yellow)),
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
  const text = `Paused for ${formatAge(pause.since, frame.nowMs) ?? '?'}: nothing new is started. To go on:`;
  return withCommand(text, commandFor(frame, 'resume', null), frame.width);
}

function troubles(view: StateView, nowMs: number): Trouble[] {
  const { poll, holds, shutting_down } = view;
  const found: Trouble[] = [];
  const bad = (text: string) => void found.push({ text, isBad: true });
  const tell = (text: string) => void found.push({ text, isBad: false });
  if (shutting_down) tell('Shutting down: runs are being stopped.');
  // The others stand under what needs a person.
  for (const hold of holds.filter((one) => !needsPerson(one))) bad(holdText(hold, nowMs));
  if (poll.health === 'never' && poll.error === null) tell('The tracker has not been read yet.');
  if (poll.health === 'failed' || poll.error !== null) bad(pollText(view, nowMs));
  if (poll.slowed_to_ms !== null)
    tell(
      `The quota of the tracker runs low: it is read every ${formatDuration(poll.slowed_to_ms)} until that is reset.`,
    );
  if (poll.problems.length > 0)
    tell(
      poll.problems.length === 1
        ? `One thing in the tracker needs a look: ${poll.problems[0]}`
        : `${poll.problems.length} things in the tracker need a look: ${poll.problems[0]}; …`,
    );
  return found;
}

/** One fault a line, and none where our own lines begin. Unknown keys come along with the faults, and would be none by themselves. */
function workflowTroubles({ workflow }: StateView): Trouble[] {
  const { error, restart_required: changed } = workflow;
  const faults = (error?.message ?? '').split('\n').map((text) => ({ text, isBad: !NO_EFFECT.test(text) }));
  const head = `The file as it is now is not in effect, the settings of before are (${error?.code}):`;
  return [
    ...(error === null ? [] : [{ text: head, isBad: true }]),
    ...(error === null
      ? []
      : faults.map(({ text, isBad }) => ({ text: isBad ? text : `warning: ${text}`, isBad, margin: '  ' }))),
    ...(changed.length === 0
      ? []
      : [{ text: `Changed, but only in effect after a restart: ${changed.join(', ')}`, isBad: false }]),
  ];
}

const NO_EFFECT = /\bunknown key \S+ has no effect\b/;

function holdText({ code, message, action, since: from, until: to, tries }: HoldView, nowMs: number): string {
  const next = formatTimeLeft(to, nowMs);
  const tried = tries === 0 ? '' : `, ${tries === 1 ? 'one try' : `${tries} tries`} in vain`;
  const then = next === null ? '' : ` It is tried again in ${next}.`;
  return `On hold for ${formatAge(from, nowMs) ?? '?'} (${code}${tried}): ${withStop(message)} ${withStop(action)}${then}`;
}

function pollText({ poll }: StateView, nowMs: number): string {
  const failing = formatAge(poll.failing_since, nowMs);
  const next = formatTimeLeft(poll.next, nowMs);
  const code = poll.error_code === null ? '' : ` (${poll.error_code})`;
  const then = next === null ? '' : ` It is tried again in ${next}.`;
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

/** How many there are of everything, in the words of the lists; what there is none of is left out, apart from what runs. */
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

interface StoredFacts {
  /** Which workflow or state directory was looked at. */
  readonly place: string;
  /** `null`: nothing is stored. */
  readonly storedAtMs: number | null;
  /** The command that starts the daemon. */
  readonly start: string;
}

/** What is known while no daemon runs. Pure. */
export function renderStored(view: StoredView, facts: StoredFacts, frame: Frame): string {
  return together([
    storedHeader(view, facts, frame),
    storedNeedsYou(view, frame),
    section('Interrupted', view.interrupted.map(interruptedEntry), frame, {
      lines: 10,
      note: 'they go on when the daemon is started',
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
  const paused = `Paused for ${formatAge(pausedSince, nowMs) ?? '?'}; this lasts over a start, until:`;
  return [
    paint.bold(cut(oneLine(facts.place), width)),
    ...wrap(what, width, 2).map(paint.yellow),
    ...[`To start it: ${oneLine(facts.start)}`].map(paint.dim),
    ...(pausedSince === null ? [] : withCommand(paused, commandFor(frame, 'resume', null), width).map(paint.yellow)),
    ...holds.flatMap(({ code, message }) =>
      wrap(oneLine(`It was on hold (${code}): ${message}`), width, 3).map(paint.red),
    ),
  ];
}

function interruptedEntry({ identifier, title, number }: StoredView['interrupted'][number]): Entry {
  return { identifier, title, right: `run ${number}`, below: [] };
}

/** A daemon of this user, and what it answered: its state, or why not. */
export interface DaemonStatus {
  readonly holder: LockHolder;
  readonly answer: StateView | { readonly silent: string };
}

/** A few lines for each. Pure. */
export function renderDaemons(daemons: readonly DaemonStatus[], frame: Frame): string {
  if (daemons.length === 0) {
    return `No daemon of yours is running, and there is no WORKFLOW.md in this folder.\nTo make one: baton init\n`;
  }
  const blocks = daemons.map((one) => daemonLines(one, frame).join('\n'));
  return `${[...blocks, `More about one of them: baton status <workflow>`].join('\n\n')}\n`;
}

function daemonLines({ holder, answer }: DaemonStatus, { nowMs, width, paint }: Frame): string[] {
  const up = formatAge(holder.since, nowMs);
  const pid = `pid ${holder.pid}${up === null ? '' : `, up ${up}`}`;
  const path = paint.bold(cut(oneLine(holder.workflow), width));
  const told = (text: string, style: 'yellow' | 'red') =>
    wrap(oneLine(text), width - 2, 3).map((row) => `  ${paint[style](row)}`);
  if ('silent' in answer) return [path, ...told(`${pid}; it gives no status: ${answer.silent}`, 'red')];
  const style = countNeeds(answer) > 0 ? 'yellow' : 'dim';
  const facts = joinFacts([...countWords(answer), pid], width - 2).map((row) => `  ${paint[style](row)}`);
  const why = whyNothing(answer, nowMs);
  return [path, ...facts, ...(why === null ? [] : told(why, 'yellow'))];
}

function whyNothing({ why_idle, hold, paused }: StateView, nowMs: number): string | null {
  if (why_idle !== null) return localiseTimes(why_idle, nowMs);
  if (hold !== null) return `On hold (${hold.code}): ${hold.message}`;
  return paused === null ? null : 'Paused: nothing new is started.';
}
