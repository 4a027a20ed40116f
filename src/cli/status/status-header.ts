import type { HoldView } from '../../status/shapes/entry-shapes.js';
import type { StateView } from '../../api/schemas.js';
import { countWords } from './count-words.js';
import { cut, joined, oneLine, withCommand, withStop, wrap } from '../../text/terminal-text.js';
import { commandFor, type Frame } from '../terminal.js';
import { needsPerson } from './needs-you.js';
import { localTimes, sayDuration, since, until } from '../../text/format-duration.js';
import { sayBudget } from './say-tokens.js';

/** Which daemon this is and how it is, and everything that keeps it as a whole from working. */
export function statusHeader(view: StateView, frame: Frame): string[] {
  const { paint, width } = frame;
  return [
    paint.bold(cut(oneLine(view.workflow.path), width)),
    ...joined(countWords(view), width),
    ...joined(facts(view, frame), width).map(paint.dim),
    ...paused(view, frame).map(paint.yellow),
    ...[...troubles(view, frame.nowMs), ...workflowTroubles(view)].flatMap(({ text, isBad, margin = '' }) =>
      wrap(oneLine(text), width - margin.length, 4).map((row) => `${margin}${paint[isBad ? 'red' : 'yellow'](row)}`),
    ),
    ...whyIdle(view, frame).flatMap((text) => wrap(oneLine(text), width, 4).map(paint.yellow)),
  ];
}

function facts({ daemon, slots, tokens_today, poll }: StateView, { nowMs }: Frame): string[] {
  const up = since(daemon.started_at, nowMs);
  const read = since(poll.last, nowMs);
  return [
    `pid ${daemon.pid}${up === null ? '' : `, up ${up}`}`,
    `${slots.taken} of ${slots.limit} slots taken`,
    `${sayBudget(tokens_today)} today`,
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
  const text = `Paused for ${since(pause.since, frame.nowMs) ?? '?'}: nothing new is started. To go on:`;
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
    tell(`The quota of the tracker runs low: it is read every ${sayDuration(poll.slowed_to_ms)} until that is reset.`);
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
  const next = until(to, nowMs);
  const tried = tries === 0 ? '' : `, ${tries === 1 ? 'one try' : `${tries} tries`} in vain`;
  const then = next === null ? '' : ` It is tried again in ${next}.`;
  return `On hold for ${since(from, nowMs) ?? '?'} (${code}${tried}): ${withStop(message)} ${withStop(action)}${then}`;
}

function pollText({ poll }: StateView, nowMs: number): string {
  const failing = since(poll.failing_since, nowMs);
  const next = until(poll.next, nowMs);
  const code = poll.error_code === null ? '' : ` (${poll.error_code})`;
  const then = next === null ? '' : ` It is tried again in ${next}.`;
  return `The tracker could not be read${failing === null ? '' : ` for ${failing}`}${code}: ${withStop(poll.error ?? '')}${then}`;
}

/** What a hold, a pause or the tracker says is said above. */
function whyIdle({ why_idle, holds, paused: pause, poll }: StateView, { nowMs }: Frame): string[] {
  if (why_idle === null) return [];
  const isSaid =
    (holds.length > 0 && /^on hold/i.test(why_idle)) ||
    (pause !== null && /^paused/i.test(why_idle)) ||
    (poll.health !== 'ok' && /^the tracker (?:cannot be|has not been) read/i.test(why_idle));
  return isSaid ? [] : [`Nothing happens: ${inSentence(localTimes(why_idle, nowMs))}`];
}

/** Sentences of the daemon begin with a capital, unless an identifier is their first word. */
function inSentence(text: string): string {
  return text.replace(/^(?:No|On|One|Paused|The)\b/, (word) => word.toLowerCase());
}
