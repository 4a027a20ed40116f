import type { HoldView } from '../../status/shapes/entry-shapes.js';
import type { StateView } from '../../status/shapes/state-shape.js';
import { cut, oneLine, widthOf, withCommand, wrap } from './fit-text.js';
import { commandFor, type Frame } from './frame.js';
import { localTimes, since, until } from './say-time.js';
import { sayBudget } from './say-tokens.js';

/** Which daemon this is and how it is, and everything that keeps it as a whole from working. */
export function statusHeader(view: StateView, frame: Frame): string[] {
  const { paint, width } = frame;
  return [
    paint.bold(cut(oneLine(view.workflow.path), width)),
    ...joined(facts(view, frame), width).map(paint.dim),
    ...paused(view, frame).map(paint.yellow),
    ...troubles(view, frame.nowMs).flatMap(({ text, isBad }) =>
      wrap(oneLine(text), width, 4).map(isBad ? paint.red : paint.yellow),
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
}

function paused({ paused: pause }: StateView, frame: Frame): string[] {
  if (pause === null) return [];
  const text = `Paused for ${since(pause.since, frame.nowMs) ?? '?'}: nothing new is started. To go on:`;
  return withCommand(text, commandFor(frame, 'resume', null), frame.width);
}

function troubles(view: StateView, nowMs: number): Trouble[] {
  const { poll, workflow, holds, shutting_down } = view;
  const found: Trouble[] = [];
  const bad = (text: string) => void found.push({ text, isBad: true });
  const tell = (text: string) => void found.push({ text, isBad: false });
  if (shutting_down) tell('Shutting down: runs are being stopped.');
  for (const hold of holds) bad(holdText(hold, nowMs));
  if (poll.health === 'never' && poll.error === null) tell('The tracker has not been read yet.');
  if (poll.health === 'failed' || poll.error !== null) bad(pollText(view, nowMs));
  if (poll.problems.length > 0)
    tell(
      `${poll.problems.length} in the tracker cannot be read: ${poll.problems[0]}${poll.problems.length > 1 ? '; …' : ''}`,
    );
  if (workflow.error !== null)
    bad(
      `The file as it is now is not in effect, the settings of before are (${workflow.error.code}): ${workflow.error.message}`,
    );
  if (workflow.restart_required.length > 0)
    tell(`Changed, but only in effect after a restart: ${workflow.restart_required.join(', ')}`);
  return found;
}

function holdText({ code, message, action, since: from, until: to, tries }: HoldView, nowMs: number): string {
  const next = until(to, nowMs);
  const tried = tries === 0 ? '' : `, ${tries === 1 ? 'one try' : `${tries} tries`} in vain`;
  const then = next === null ? '' : ` It is tried again in ${next}.`;
  return `On hold for ${since(from, nowMs) ?? '?'} (${code}${tried}): ${stopped(message)} ${stopped(action)}${then}`;
}

function pollText({ poll }: StateView, nowMs: number): string {
  const failing = since(poll.failing_since, nowMs);
  const next = until(poll.next, nowMs);
  const code = poll.error_code === null ? '' : ` (${poll.error_code})`;
  const then = next === null ? '' : ` It is tried again in ${next}.`;
  return `The tracker could not be read${failing === null ? '' : ` for ${failing}`}${code}: ${stopped(poll.error ?? '')}${then}`;
}

/** What a hold, a pause or the tracker says is said above. */
function whyIdle({ why_idle, holds, paused: pause, poll }: StateView, { nowMs }: Frame): string[] {
  if (why_idle === null) return [];
  const isSaid =
    (holds.length > 0 && /^on hold/i.test(why_idle)) ||
    (pause !== null && /^paused/i.test(why_idle)) ||
    (poll.health !== 'ok' && /^the tracker (?:cannot be|has not been) read/i.test(why_idle));
  return isSaid ? [] : [`Nothing happens: ${localTimes(why_idle, nowMs)}`];
}

/** Facts beside each other, as many as fit on a line. */
function joined(texts: readonly string[], width: number): string[] {
  const lines: string[] = [];
  for (const text of texts) {
    const last = lines.at(-1);
    const longer = `${last} · ${text}`;
    if (last !== undefined && widthOf(longer) <= width) lines[lines.length - 1] = longer;
    else lines.push(text);
  }
  return lines;
}

function stopped(text: string): string {
  const bare = text.trim();
  return bare === '' || /[.!?]$/.test(bare) ? bare : `${bare}.`;
}
