import type { Config } from '../src/domain/config.js';
import {
  type Blocker,
  type Issue,
  includesState,
  isTrusted,
  missingLabels,
  openBlockers,
} from '../src/domain/issue.js';
import type { EligibilityParams, EligibilityRule, FailedRule } from '../src/domain/reasons.js';
import { recordOf, type State } from './state.js';

/** One rule that an issue must pass before it is started. Its texts are in src/text/rules.ts. */
interface Rule<Params> {
  passes(issue: Issue, state: State): boolean;
  /** What a text needs to say why the issue does not pass. */
  params(issue: Issue, state: State): Params;
}

/** Every rule about one issue, in the order in which a person would ask. Slots, holds and polls are about all issues. */
const CHECKS: { readonly [R in EligibilityRule]: Rule<EligibilityParams[R]> } = {
  complete: {
    passes: (issue) => [issue.id, issue.identifier, issue.title, issue.state].every((text) => text.trim() !== ''),
    params: () => ({}),
  },
  not_terminal: {
    passes: (issue, { config }) => !includesState(config.tracker.terminalStates, issue.state),
    params: ({ state }, { config }) => ({ state, open_states: openStates(config) }),
  },
  active_state: {
    passes: (issue, { config }) => includesState(config.tracker.activeStates, issue.state),
    params: ({ state }, { config }) => ({
      state,
      active_states: config.tracker.activeStates,
      open_states: openStates(config),
    }),
  },
  dispatchable: {
    passes: (issue) => issue.dispatchable,
    params: ({ held_back }) => ({ held_back }),
  },
  not_blocked: {
    passes: (issue, { config }) => openBlockers(issue, config.tracker).length === 0,
    params: (issue, { config }) => ({ blockers: openBlockers(issue, config.tracker).map(nameBlocker) }),
  },
  blockers_at_rest: {
    // An agent marks its issue as done before its work is pushed, so a dependent issue must wait for the end of that run.
    passes: (issue, state) => runningBlockers(issue, state).length === 0,
    params: (issue, state) => ({ blockers: runningBlockers(issue, state).map(nameBlocker) }),
  },
  trusted_author: {
    passes: isTrusted,
    params: ({ author }) => ({ author: author?.login ?? null }),
  },
  required_labels: {
    passes: (issue, { config }) => missingLabels(issue, config.tracker).length === 0,
    params: (issue, { config }) => ({ missing: missingLabels(issue, config.tracker) }),
  },
  not_claimed: {
    passes: (issue, { claims }) => !(issue.id in claims),
    params: () => ({}),
  },
  not_being_removed: {
    passes: (issue, { removals }) => !(issue.id in removals),
    params: () => ({}),
  },
  budget_left: {
    passes: (issue, state) => hasBudget(state, issue.id, state.config),
    params: ({ id, identifier }, state) => {
      const { tokens, budgetFrom } = recordOf(state, id);
      return { identifier, spent: tokens - budgetFrom, limit: state.config.agent.maxTokensPerIssue };
    },
  },
};

const NAMES = Object.keys(CHECKS) as EligibilityRule[];

/** With the name of each rule. */
export const RULES = NAMES.map((name) => ({ name, ...CHECKS[name] }));

export function isEligible(issue: Issue, state: State): boolean {
  return RULES.every((rule) => rule.passes(issue, state));
}

/** The rules that look at nothing but the issue and the settings. */
const OWN_RULES = (
  [
    ...['complete', 'not_terminal', 'active_state', 'dispatchable'],
    ...['not_blocked', 'trusted_author', 'required_labels'],
  ] as const
).map((name) => CHECKS[name]);

/** False when the issue cannot start before it or the settings change. */
export function canEverStart(issue: Issue, state: State): boolean {
  return OWN_RULES.every((rule) => rule.passes(issue, state));
}

/** The rules that keep an issue from starting, most basic first, without those that follow from another one. */
export function failedRules(issue: Issue, state: State): FailedRule[] {
  const isTerminal = includesState(state.config.tracker.terminalStates, issue.state);
  return NAMES.filter((name) => !(name === 'active_state' && isTerminal)).flatMap(
    (name) => failedRule(name, issue, state) ?? [],
  );
}

/** Returns null when the issue passes the rule. */
export function failedRule(rule: EligibilityRule, issue: Issue, state: State): FailedRule | null {
  const checked = rule === 'blockers_at_rest' ? withoutOpenBlockers(issue, state) : issue;
  const { passes, params } = CHECKS[rule];
  return passes(checked, state) ? null : ({ rule, params: params(checked, state) } as FailedRule);
}

/** Open blockers fail `not_blocked`; that their runs have to end follows from it. */
function withoutOpenBlockers(issue: Issue, { config }: State): Issue {
  if (issue.blocked_by.length === 0) return issue;
  const open = openBlockers(issue, config.tracker);
  return { ...issue, blocked_by: issue.blocked_by.filter((blocker) => !open.includes(blocker)) };
}

export function hasBudget(state: State, issueId: string, config: Config): boolean {
  const { tokens, budgetFrom } = recordOf(state, issueId);
  const cap = config.agent.maxTokensPerIssue;
  return cap === null || tokens - budgetFrom < cap;
}

/** The active states that are not terminal too: an issue that is moved to one of them can start. */
export function openStates({ tracker }: Config): string[] {
  return tracker.activeStates.filter((state) => !includesState(tracker.terminalStates, state));
}

function runningBlockers(issue: Issue, { claims }: State): Blocker[] {
  // Issue ids may equal inherited names such as `constructor`.
  return issue.blocked_by.filter(
    ({ id }) => id !== null && Object.hasOwn(claims, id) && claims[id]?.status.kind === 'running',
  );
}

function nameBlocker({ identifier, id, state }: Blocker): { readonly name: string; readonly state: string | null } {
  return { name: identifier ?? id ?? '?', state };
}
