import type { StateView } from '../../api/schemas.js';
import { shellWord } from '../../domain/shell-word.js';
import { counted } from '../../text/format-numbers.js';

/** A notice about the whole daemon, with what to do about it. */
export interface Notice {
  readonly id: string;
  /** `bad`: work is blocked. `warn`: it will be, or a setting is not in effect. */
  readonly tone: 'bad' | 'warn' | 'info';
  readonly title: string;
  readonly text: string;
  readonly action: string | null;
  readonly since: string | null;
  readonly next: { readonly label: string; readonly at: string } | null;
  readonly isPause: boolean;
  /** A unified diff. */
  readonly diff: string | null;
}

const NONE = { action: null, since: null, next: null, isPause: false, diff: null } as const;

/** The most important first. */
export function noticesOf(state: StateView): Notice[] {
  return [
    ...paused(state),
    ...holds(state),
    ...workflowError(state),
    ...held(state),
    ...poll(state),
    ...restart(state),
    ...unreadable(state),
  ];
}

function paused({ paused }: StateView): Notice[] {
  if (paused === null) return [];
  const text = 'No new runs start. Current runs go on.';
  return [{ ...NONE, id: 'paused', tone: 'warn', title: 'Paused', text, since: paused.since, isPause: true }];
}

function holds({ holds }: StateView): Notice[] {
  return holds.map((hold) => ({
    ...NONE,
    id: `hold-${hold.source}`,
    tone: 'bad',
    title: `On hold: ${hold.code}`,
    text: hold.message,
    action: hold.action,
    since: hold.since,
    next: hold.until === null ? null : { label: hold.source === 'budget' ? 'ends' : 'next try', at: hold.until },
  }));
}

function workflowError({ workflow }: StateView): Notice[] {
  if (workflow.error === null) return [];
  const title = 'The current WORKFLOW.md is not in effect';
  const action = 'Fix the file. It is read again when it changes; until then the last valid settings apply.';
  return [{ ...NONE, id: 'workflow', tone: 'bad', title, text: workflow.error.message, action }];
}

function held({ workflow }: StateView): Notice[] {
  if (workflow.held === null) return [];
  const { changes, since, diff, is_cut } = workflow.held;
  const title = 'Changes of WORKFLOW.md wait until you allow them';
  const action = `If they are yours, run \`baton allow ${shellWord(workflow.path)}\`. If an agent's branch is checked out, go back to your own. Until then the settings before them apply.`;
  return [
    {
      ...NONE,
      id: 'held',
      tone: 'warn',
      title,
      text: changes.join('\n'),
      action,
      since,
      diff: is_cut ? `${diff}\n… the rest is left out here` : diff,
    },
  ];
}

function poll({ poll, holds }: StateView): Notice[] {
  // A hold because of the tracker has more details.
  if (poll.health !== 'failed' || holds.some(({ source }) => source === 'tracker')) return [];
  return [
    {
      ...NONE,
      id: 'poll',
      tone: 'bad',
      title: 'The tracker cannot be read',
      text: poll.error ?? 'The last poll failed.',
      action: 'There may be issues that Baton does not see. It tries again by itself.',
      since: poll.failing_since,
      next: poll.next === null ? null : { label: 'next try', at: poll.next },
    },
  ];
}

function restart({ workflow }: StateView): Notice[] {
  const { restart_required: keys, restart_error: error } = workflow;
  if (keys.length === 0) return [];
  const names = keys.join(', ');
  if (error !== null) {
    const title = 'Changed settings cannot be used';
    return [{ ...NONE, id: 'restart', tone: 'bad', title, text: `${names}: the old values stay. ${error.message}` }];
  }
  const text = `Changed in WORKFLOW.md, and in effect once no run is active: ${names}.`;
  return [{ ...NONE, id: 'restart', tone: 'warn', title: 'Settings change soon', text }];
}

function unreadable({ poll }: StateView): Notice[] {
  if (poll.problems.length === 0) return [];
  const { length } = poll.problems;
  const title = `${counted(length, 'thing')} in the tracker ${length === 1 ? 'needs' : 'need'} a look`;
  return [{ ...NONE, id: 'problems', tone: 'warn', title, text: poll.problems.slice(0, 5).join('\n') }];
}
