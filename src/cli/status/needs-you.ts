import { shellWord } from '../../domain/shell-word.js';
import type { AskingView, HoldView, ParkedView, QuestionView } from '../../status/shapes/entry-shapes.js';
import type { StateView } from '../../api/schemas.js';
import { questionLines } from '../control/tell-question.js';
import { withStop } from '../../text/terminal-text.js';
import { commandFor, type Entry, type Frame, type Line, linesOf, section } from '../terminal.js';
import { since, until } from '../../text/format-duration.js';

const QUESTION_LINES = 4;

type Needs = Pick<StateView, 'asking' | 'parked' | 'holds'>;

/** What waits for a person: a hold of the whole daemon, runs that ask, and issues that were parked with a question which can be answered. */
export function needsYou(view: Needs, frame: Frame): string[] {
  const holds = view.holds.filter(needsPerson).map((hold) => holdEntry(hold, frame));
  return section('Needs you', [...holds, ...questionEntries(view, frame, true)], frame, { lines: 24, style: 'yellow' });
}

/** The same while no daemon is there that could be given an answer. */
export function neededYou(view: Pick<Needs, 'asking' | 'parked'>, frame: Frame): string[] {
  const note = 'start the daemon to answer';
  return section('Needs you', questionEntries(view, frame, false), frame, { lines: 24, style: 'yellow', note });
}

/** How many entries that are. Issues that are parked without a question are told as parked. */
export function needsOf({ asking, parked, holds }: Needs): number {
  return asking.length + parked.filter(({ question }) => question !== null).length + holds.filter(needsPerson).length;
}

/** The budget of the day comes back by itself. */
export function needsPerson({ source }: HoldView): boolean {
  return source !== 'budget';
}

function holdEntry({ code, message, action, since: from, until: to, tries }: HoldView, { nowMs }: Frame): Entry {
  const held = since(from, nowMs);
  const next = until(to, nowMs);
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
    ...parked.flatMap((one) => parkedEntry(one, frame, hasDaemon)),
  ];
}

function askingEntry(
  { issue_identifier, title, questions, ...asking }: AskingView,
  frame: Frame,
  hasDaemon: boolean,
): Entry {
  const { nowMs } = frame;
  const asked = since(asking.asked_at, nowMs);
  const left = until(asking.answer_until, nowMs);
  const then = asking.on_timeout === 'park' ? 'parked' : 'declined';
  const right = [...(asked === null ? [] : [`asked ${asked} ago`]), ...(left === null ? [] : [`${then} in ${left}`])];
  const below = questions.flatMap((question) => [
    ...quoted(question, frame),
    ...(hasDaemon ? [howToAnswer(issue_identifier, question, questions.length > 1, frame)] : []),
  ]);
  return { identifier: issue_identifier, title, right: right.join(', '), below };
}

function parkedEntry({ question, ...one }: ParkedView, frame: Frame, hasDaemon: boolean): Entry[] {
  if (question === null) return [];
  const parked = since(one.since, frame.nowMs);
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
  const blanks = fields.map((field) => ` --field ${shellWord(field.id)}='<answer>'`).join('');
  return { text: command(fields.length === 1 ? " '<answer>'" : blanks), style: 'cyan', isCommand: true };
}

/** The first lines of a question, and its blanks; on a small screen as little of it as tells what it is about. */
function quoted(question: QuestionView, frame: Frame): Line[] {
  const lines = questionLines(question);
  const rows = lines.text.map((row) => row.trim()).filter((row) => row !== '');
  const asLine = (text: string): Line => ({ text, style: 'bold', maxLines: 2, isQuoted: true });
  if (linesOf(QUESTION_LINES, frame) < QUESTION_LINES) return [asLine([...rows, ...lines.blanks].join(' · '))];
  const left = rows.length - QUESTION_LINES;
  const more: Line[] = left > 0 ? [{ text: `… and ${left} more lines`, isQuoted: true }] : [];
  const blanks = lines.blanks.map((text): Line => ({ text, maxLines: 2, isQuoted: true }));
  return [...rows.slice(0, QUESTION_LINES).map(asLine), ...more, ...blanks];
}
