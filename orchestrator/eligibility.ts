import type { Config } from '../src/domain/config.js';
import type { Blocker, Issue } from '../src/domain/issue.js';
import { includesState, isTrusted, missingLabels, openBlockers } from '../src/domain/issue.js';
import { shellWord } from '../src/domain/shell-word.js';
import { recordOf, type State } from './state.js';

/** One rule that an issue must pass before it is started; for a person: why it does not, and what to do about it. */
interface Rule {
  readonly name: string;
  passes(issue: Issue, state: State): boolean;
  why(issue: Issue, state: State): string;
  action(issue: Issue, state: State): string;
}

/** Every rule about one issue, in the order in which a person would ask. Slots, holds and polls are about all of them. */
export const RULES: readonly Rule[] = [
  {
    name: 'complete',
    passes: (issue) => [issue.id, issue.identifier, issue.title, issue.state].every((text) => text.trim() !== ''),
    why: () => 'id, identifier, title or state is empty in the tracker',
    action: () => 'fill them in, in the tracker',
  },
  {
    name: 'not_terminal',
    passes: (issue, { config }) => !includesState(config.tracker.terminalStates, issue.state),
    why: (issue) => `its state "${issue.state}" is terminal`,
    action: reopen,
  },
  {
    name: 'active_state',
    passes: (issue, { config }) => includesState(config.tracker.activeStates, issue.state),
    why: (issue, { config }) => `its state "${issue.state}" is not among ${list(config.tracker.activeStates)}`,
    action: reopen,
  },
  {
    name: 'dispatchable',
    passes: (issue) => issue.dispatchable,
    why: ({ held_back }) =>
      held_back === null ? 'the tracker says that it is not ours to work on' : `it ${held_back}`,
    action: () =>
      'look at it in the tracker: who it is assigned to, and who changed it; docs/trackers.md tells the rules',
  },
  {
    name: 'not_blocked',
    passes: (issue, { config }) => openBlockers(issue, config.tracker).length === 0,
    why: (issue, { config }) => `it waits for ${openBlockers(issue, config.tracker).map(nameOfBlocker).join(', ')}`,
    action: (issue, { config }) =>
      `finish ${openBlockers(issue, config.tracker).map(shortName).join(', ')}, or remove the dependency in the tracker`,
  },
  {
    // Its agent calls an issue done before the work is pushed: whoever builds on it would not find it yet.
    name: 'blockers_at_rest',
    passes: (issue, state) => runningBlockers(issue, state).length === 0,
    why: (issue, state) =>
      `it waits for the run of ${runningBlockers(issue, state).map(nameOfBlocker).join(', ')} to end`,
    action: () => 'wait: it starts when that run has ended',
  },
  {
    name: 'trusted_author',
    passes: isTrusted,
    why: (issue) => `its author ${issue.author?.login ?? '?'} is not trusted`,
    action: () =>
      'read it; if it is harmless, let somebody who is trusted write it again, or open tracker.trust (docs/trackers.md)',
  },
  {
    name: 'required_labels',
    passes: (issue, { config }) => missingLabels(issue, config.tracker).length === 0,
    why: (issue, { config }) => `it lacks the label ${list(missingLabels(issue, config.tracker))}`,
    action: label,
  },
  {
    name: 'not_claimed',
    passes: (issue, { claims }) => !(issue.id in claims),
    why: () => 'it is claimed already',
    action: () => 'nothing: it is worked on',
  },
  {
    name: 'not_being_removed',
    passes: (issue, { removals }) => !(issue.id in removals),
    why: () => 'its workspace is being removed',
    action: () => 'wait: it is free when that is done',
  },
  {
    name: 'budget_left',
    passes: (issue, state) => hasBudget(state, issue.id, state.config),
    why: (issue, state) => {
      const { tokens, budgetFrom } = recordOf(state, issue.id);
      return `its token budget is spent: ${tokens - budgetFrom} of ${state.config.agent.maxTokensPerIssue}`;
    },
    action: ({ identifier }) =>
      `raise agent.max_tokens_per_issue, or \`baton retry ${shellWord(identifier)}\`, which grants it a new budget`,
  },
];

export function isEligible(issue: Issue, state: State): boolean {
  return RULES.every((rule) => rule.passes(issue, state));
}

export function hasBudget(state: State, issueId: string, config: Config): boolean {
  const { tokens, budgetFrom } = recordOf(state, issueId);
  const cap = config.agent.maxTokensPerIssue;
  return cap === null || tokens - budgetFrom < cap;
}

function runningBlockers(issue: Issue, { claims }: State): Blocker[] {
  // `constructor` and the like are there on every object.
  return issue.blocked_by.filter(
    ({ id }) => id !== null && Object.hasOwn(claims, id) && claims[id]?.status.kind === 'running',
  );
}

function reopen(_: Issue, { config }: State): string {
  const { activeStates, terminalStates } = config.tracker;
  const open = activeStates.filter((state) => !includesState(terminalStates, state));
  return `move it to ${open.map((state) => `"${state}"`).join(' or ')} in the tracker`;
}

function label(issue: Issue, { config }: State): string {
  const missing = missingLabels(issue, config.tracker);
  if (missing.some((one) => one.trim() === '')) return 'fix the blank entry of tracker.required_labels';
  return `add the label ${missing.map((one) => `\`${one}\``).join(', ')} in the tracker`;
}

function nameOfBlocker(blocker: Blocker): string {
  return `${shortName(blocker)} (${blocker.state ?? 'not found'})`;
}

function shortName({ identifier, id }: Blocker): string {
  return identifier ?? id ?? '?';
}

function list(words: readonly string[]): string {
  return words.map((word) => `"${word}"`).join(', ');
}
