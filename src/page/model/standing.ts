import type { IssueView } from '../../status/shapes/issue-shape.js';
import type { StateView } from '../../api/schemas.js';
import { counted, shortCount } from './numbers.js';
import { parkWords, phaseWords, reasonWords } from './words.js';

/**
 * Where an issue stands by the live state, as a text that becomes another when its details should be read again. Numbers that only run
 * up are left out: they come with the live state itself.
 */
export function standingKey(state: StateView, identifier: string): string {
  const isIt = (entry: { readonly issue_identifier: string }) => entry.issue_identifier === identifier;
  const running = state.running.find(isIt);
  const parked = state.parked.find(isIt);
  return JSON.stringify([
    running && [running.run_id, running.phase, running.stopping, running.state, running.step],
    state.asking.find(isIt)?.questions.map(({ id }) => id),
    state.retrying.find(isIt)?.due_at,
    parked && [parked.reason, parked.since, parked.question?.id],
    state.ready.find(isIt)?.why,
    state.ineligible.find(isIt)?.reasons,
    state.done.find(isIt)?.finished_at,
    state.holds.map(({ code }) => code),
    state.paused,
    state.poll.health,
  ]);
}

/** The details with what the live state knows better. */
export function withLive(issue: IssueView, state: StateView | null): IssueView {
  if (state === null) return issue;
  const isIt = (entry: { readonly issue_id: string }) => entry.issue_id === issue.issue_id;
  const running = state.running.find(isIt) ?? null;
  const asking = state.asking.find(isIt) ?? null;
  const retrying = state.retrying.find(isIt) ?? null;
  const parked = state.parked.find(isIt) ?? null;
  const isClaimed = running !== null || retrying !== null || parked !== null;
  if (!isClaimed) return { ...issue, running, asking, retrying, parked };
  const status = asking ? 'asking' : running ? 'running' : parked ? 'parked' : 'retrying';
  return { ...issue, status, running, asking, retrying, parked, budget: running?.budget ?? issue.budget };
}

/** One sentence: what it is doing, or what it waits for. Times in it are UTC, ISO 8601. */
export function standingWords(issue: IssueView): string {
  const { running, retrying, parked, done } = issue;
  switch (issue.status) {
    case 'running':
      return running === null ? 'A run is at work.' : `Run ${running.run_number} ${runningWords(running)}.`;
    case 'asking':
      return 'Its run waits for your answer.';
    case 'retrying':
      return retrying === null ? 'It goes on by itself.' : retryingWords(retrying);
    case 'parked':
      return parked === null ? 'It is parked.' : `Parked: ${parkWords(parked.reason)}. ${whatFrees(parked)}`;
    case 'ready':
      return issue.why_not_started === null ? 'It is about to start.' : `It is in line: ${issue.why_not_started}.`;
    case 'ineligible':
      return `It is not picked up: ${firstFault(issue)}.`;
    case 'done':
      return done === null ? 'It is done.' : doneWords(done);
    case 'past':
      return 'It is not among the issues that Baton sees now. What is shown is from its earlier runs.';
  }
}

type Entry<K extends 'running' | 'retrying' | 'parked' | 'done'> = NonNullable<IssueView[K]>;

function runningWords(running: Entry<'running'>): string {
  if (running.stopping !== null) return `is being stopped (${running.stopping.replaceAll('_', ' ')})`;
  const phase = phaseWords(running);
  return `is at work${phase === '' || phase === 'agent at work' ? '' : `: ${phase}`}`;
}

function retryingWords(retrying: Entry<'retrying'>): string {
  const when =
    retrying.due || retrying.due_at === null ? 'It is due' : `It ${reasonWords(retrying.reason)} at ${retrying.due_at}`;
  return retrying.error === null ? `${when}.` : `${when}, after: ${retrying.error}`;
}

function whatFrees({ question, reason }: Entry<'parked'>): string {
  if (question !== null) return 'An answer goes on where it stopped.';
  return reason === 'configuration'
    ? 'It goes on when the workflow changes, or when you retry it.'
    : 'It goes on when you retry it, or when the issue changes.';
}

function firstFault({ rules }: IssueView): string {
  return rules.find(({ pass }) => !pass)?.why ?? 'a rule keeps it out';
}

function doneWords({ terminal, state, finished_at: at, runs, tokens }: Entry<'done'>): string {
  const what = terminal ? `Done (${state})` : `Handed over: it went to ${state}`;
  return `${what}${at === null ? '' : ` at ${at}`}, after ${counted(runs, 'run')} and ${shortCount(tokens)} tokens.`;
}
