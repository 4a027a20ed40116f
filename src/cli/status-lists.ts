import type { DoneView, ParkedView, ReadyView, RetryingView, RunningView } from '../status/shapes/entry-shapes.js';
import type { StateView } from '../api/schemas.js';
import { commandFor, type Entry, type Frame, type Line, section } from './terminal.js';
import { localTimes, since, until } from '../text/format-duration.js';
import { sayBudget, sayCount } from './status/say-tokens.js';

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
  const note = shared ? { note: localTimes(shared, frame.nowMs) } : {};
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
  const running = since(run.started_at, nowMs);
  const sign = since(run.last_event_at, nowMs);
  const right = [...(running === null ? [] : [running]), sayBudget(run.budget)].join(' · ');
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
  const below = tellWhy ? [{ text: why === null ? 'starts now' : localTimes(why, nowMs) }] : [];
  return { ...namesOf(one), right, below };
}

function waitingEntry(one: RetryingView, { nowMs }: Frame): Entry {
  const due = until(one.due_at, nowMs);
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
  const age = since(one.since, frame.nowMs);
  const right = `${one.reason}${age === null ? '' : ` · ${age} ago`}`;
  const message: Line = { text: localTimes(one.message, frame.nowMs), maxLines: 2 };
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
  const age = since(finished_at, nowMs);
  const cost = `${runs === 1 ? '1 run' : `${runs} runs`}, ${sayCount(tokens)} tokens`;
  const right = [...(terminal ? [] : [`now ${state}`]), cost, ...(age === null ? [] : [`${age} ago`])].join(' · ');
  return { ...namesOf(one), title: `${terminal ? '✓' : '→'} ${one.title}`, right, below: [] };
}

function namesOf(one: { readonly issue_identifier: string; readonly title: string }) {
  return { identifier: one.issue_identifier, title: one.title };
}
