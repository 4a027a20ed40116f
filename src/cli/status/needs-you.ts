import { shellWord } from '../../domain/shell-word.js';
import type { AskingView, ParkedView, QuestionView } from '../../status/shapes/entry-shapes.js';
import type { StateView } from '../../status/shapes/state-shape.js';
import { commandFor, type Entry, type Frame, type Line, section } from './frame.js';
import { since, until } from './say-time.js';

const QUESTION_LINES = 4;

/** Whoever waits for a person: runs that ask, and issues that were parked with a question which can still be answered. */
export function needsYou(view: Pick<StateView, 'asking' | 'parked'>, frame: Frame): string[] {
  const asking = view.asking.map((one) => askingEntry(one, frame));
  return section('Needs you', [...asking, ...view.parked.flatMap((one) => parkedEntry(one, frame))], frame, {
    lines: 24,
    style: 'yellow',
  });
}

function askingEntry({ issue_identifier, title, questions, ...asking }: AskingView, frame: Frame): Entry {
  const { nowMs } = frame;
  const asked = since(asking.asked_at, nowMs);
  const left = until(asking.answer_until, nowMs);
  const then = asking.on_timeout === 'park' ? 'parked' : 'declined';
  const right = [...(asked === null ? [] : [`asked ${asked} ago`]), ...(left === null ? [] : [`${then} in ${left}`])];
  const below = questions.flatMap((question) => [
    ...questionLines(question),
    howToAnswer(issue_identifier, question, questions.length > 1, frame),
  ]);
  return { identifier: issue_identifier, title, right: right.join(', '), below };
}

function parkedEntry({ issue_identifier, title, question, since: from }: ParkedView, frame: Frame): Entry[] {
  if (question === null) return [];
  const parked = since(from, frame.nowMs);
  const right = parked === null ? 'parked' : `parked ${parked} ago`;
  const below = [...questionLines(question), howToAnswer(issue_identifier, question, false, frame)];
  return [{ identifier: issue_identifier, title, right, below }];
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

/** The first lines of a question, and its blanks. */
function questionLines({ text, fields }: QuestionView): Line[] {
  const rows = text
    .split('\n')
    .map((row) => row.trim())
    .filter((row) => row !== '');
  const shown = rows.slice(0, QUESTION_LINES).map((row): Line => ({ text: `│ ${row}`, style: 'bold', maxLines: 2 }));
  const left = rows.length - QUESTION_LINES;
  const more: Line[] = left > 0 ? [{ text: `│ … and ${left} more lines` }] : [];
  const blanks = fields.map(({ id, label, options }): Line => {
    const choice = options.length === 0 ? '' : ` (${options.join(' | ')})`;
    return { text: `│ ${id}: ${label}${choice}`, maxLines: 2 };
  });
  return [...shown, ...more, ...blanks];
}
