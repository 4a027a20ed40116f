import type { EligibilityRule, FailedRule, RuleCode, RuleParams } from '../domain/reasons.js';
import { counted } from './format-numbers.js';
import { stopText } from './outcomes.js';
import { PARKED_TEXTS } from './parked-reasons.js';
import { batonCommand, errorAction, quotedList, withoutStop } from './phrases.js';

/** The texts of one rule. All go on from "it …" or "the issue …": no capital at the start, no full stop at the end. */
interface RuleTexts<Params> {
  /** What holds when the rule passes. */
  readonly passes: string;
  why(params: Params): string;
  /** What a person can do about it. */
  action(params: Params): string;
}

/** Why an issue does not pass a rule. */
export function ruleWhy({ rule, params }: FailedRule): string {
  return textsOf(rule).why(params);
}

/** What a person can do about a rule that fails. */
export function ruleAction({ rule, params }: FailedRule): string {
  return textsOf(rule).action(params);
}

/** Why issues are not started. A pause and a hold end only when a person acts, so their action is part of it. */
export function startObstacle(failed: FailedRule): string {
  const needsPerson = failed.rule === 'not_paused' || failed.rule.startsWith('no_hold_');
  return needsPerson ? `${ruleWhy(failed)}; ${ruleAction(failed)}` : ruleWhy(failed);
}

/** What holds when a rule passes. A rule of a newer daemon is shown by its code. */
export function ruleText(rule: string): string {
  return Object.hasOwn(RULE_TEXTS, rule) ? RULE_TEXTS[rule as RuleCode].passes : rule.replaceAll('_', ' ');
}

/** How many issues fail a rule, as in "3 blocked". */
export function ruleGroup(rule: string): string {
  return Object.hasOwn(GROUPS, rule) ? GROUPS[rule as EligibilityRule] : rule.replaceAll('_', ' ');
}

// The type of `params` follows from `rule`; the compiler cannot see that for a union.
function textsOf(rule: RuleCode): RuleTexts<never> & RuleTexts<RuleParams[RuleCode]> {
  return RULE_TEXTS[rule] as RuleTexts<never> & RuleTexts<RuleParams[RuleCode]>;
}

const reopen = ({ open_states: states }: RuleParams['not_terminal']): string =>
  `move it to ${quotedList(states, ' or ')} in the tracker`;

const nameBlockers = ({ blockers }: RuleParams['not_blocked']): string =>
  blockers.map(({ name, state }) => `${name} (${state ?? 'not found'})`).join(', ');

const hold = (passes: string): RuleTexts<RuleParams['no_hold_agent']> => ({
  passes,
  why({ source, code, message, until }) {
    const end = until === null ? '' : `, ${source === 'budget' ? 'until' : 'next try at'} ${until}`;
    return `on hold (${code}${end}): ${withoutStop(message)}`;
  },
  action: ({ source, code, until }) =>
    source === 'budget' ? `raise agent.max_tokens_per_day, or wait until ${until}` : errorAction(code),
});

const MAX_NAMED = 5;

const RULE_TEXTS: { readonly [R in RuleCode]: RuleTexts<RuleParams[R]> } = {
  complete: {
    passes: 'it has an id, an identifier, a title and a state',
    why: () => 'id, identifier, title or state is empty in the tracker',
    action: () => 'fill them in, in the tracker',
  },
  not_terminal: {
    passes: 'its state is not terminal',
    why: ({ state }) => `its state "${state}" is terminal`,
    action: reopen,
  },
  active_state: {
    passes: 'its state is active',
    why: ({ state, active_states }) => `its state "${state}" is not among ${quotedList(active_states)}`,
    action: reopen,
  },
  dispatchable: {
    passes: 'the tracker assigns it to this daemon',
    why: ({ held_back }) => (held_back === null ? 'the tracker does not assign it to this daemon' : `it ${held_back}`),
    action: () => 'check in the tracker who it is assigned to and who changed it; docs/trackers.md has the rules',
  },
  not_blocked: {
    passes: 'the issues that block it are done',
    why: (params) => `it waits for ${nameBlockers(params)}`,
    action: ({ blockers }) =>
      `finish ${blockers.map(({ name }) => name).join(', ')}, or remove the dependency in the tracker`,
  },
  blockers_at_rest: {
    passes: 'no issue that blocked it has a run',
    why: (params) => `it waits for the run of ${nameBlockers(params)} to end`,
    action: () => 'wait: it starts when that run has ended',
  },
  trusted_author: {
    passes: 'its author is trusted',
    why: ({ author }) => `its author ${author ?? '?'} is not trusted`,
    action: () =>
      'read it; if it is harmless, let a trusted person create it again, or widen tracker.trust (docs/trackers.md)',
  },
  required_labels: {
    passes: 'it has the required labels',
    why: ({ missing }) => `it lacks the label ${quotedList(missing)}`,
    action: ({ missing }) =>
      missing.some((label) => label.trim() === '')
        ? 'fix the blank entry of tracker.required_labels'
        : `add the label ${missing.map((label) => `\`${label}\``).join(', ')} in the tracker`,
  },
  not_claimed: {
    passes: 'it is not claimed',
    why: () => 'it is claimed already',
    action: () => 'nothing: it has a run, or waits for one',
  },
  not_being_removed: {
    passes: 'its workspace is not being removed',
    why: () => 'its workspace is being removed',
    action: () => 'wait until the workspace is removed',
  },
  budget_left: {
    passes: 'it has tokens left',
    why: ({ spent, limit }) => `its token budget is spent: ${spent} of ${limit}`,
    action: ({ identifier }) =>
      `raise agent.max_tokens_per_issue, or grant a new budget with ${batonCommand('retry', identifier)}`,
  },
  not_being_stopped: {
    passes: 'its run is not being stopped',
    why: ({ stop }) => `its run is being stopped: ${stopText(stop)}`,
    action: ({ is_retry_pending }) =>
      is_retry_pending ? 'wait: it starts again when the run has ended' : 'wait until its processes are gone',
  },
  no_open_question: {
    passes: 'it has no open question',
    why: () => 'its agent waits for an answer',
    action: ({ identifier }) => batonCommand('answer', identifier),
  },
  not_parked: {
    passes: 'it is not parked',
    why: ({ reason, message, is_parked }) =>
      is_parked ? `parked as ${reason}: ${message}` : `it will be parked: ${message}`,
    action({ identifier, reason, has_question }) {
      const other = PARKED_TEXTS[reason].action(identifier);
      if (!has_question) return other;
      const answer = batonCommand('answer', identifier);
      return reason === 'input_required' ? answer : `${answer}, or ${other}`;
    },
  },
  processes_gone: {
    passes: 'no process of an earlier run is left',
    why: ({ run_number }) => `processes of run ${run_number} outlive SIGKILL and keep its slot`,
    action: () => 'look for a hung disk or device; the slot is free when they are gone',
  },
  due: {
    passes: 'its next run is due',
    why: (params) => `its next run is due at ${params.due_at}${whyLater(params)}`,
    action: ({ identifier, due_at }) =>
      `wait until ${due_at}, or start it now with ${batonCommand('retry', identifier)}`,
  },
  not_shutting_down: {
    passes: 'the daemon is not shutting down',
    why: () => 'the daemon is shutting down',
    action: () => 'wait until it has ended, then start it again',
  },
  not_reopening: {
    passes: 'no changed setting waits for the end of all runs',
    why: ({ keys, runs }) => `${keys.join(', ')} changed in WORKFLOW.md: waiting for ${counted(runs, 'run')} to end`,
    action: () => 'wait until they have ended, stop them, or take the change back',
  },
  not_paused: {
    passes: 'the daemon is not paused',
    why: ({ since }) => `paused since ${since}`,
    action: () => 'resume with `baton resume`',
  },
  not_rate_limited: {
    passes: 'the tracker does not limit our requests',
    why: ({ until }) => `the tracker limits our requests until ${until}`,
    action: ({ until }) => `wait until ${until}`,
  },
  tracker_readable: {
    passes: 'the tracker can be read',
    why: ({ code, message, next_at }) =>
      `the tracker cannot be read (${code}): ${withoutStop(message)}; next try at ${next_at}`,
    action: ({ code }) => errorAction(code),
  },
  tracker_read: {
    passes: 'the tracker has been read',
    why: () => 'the tracker has not been read yet',
    action: () => 'wait: it takes a moment',
  },
  reading_fresh: {
    passes: 'the last reading of the tracker is recent',
    why: ({ last_at }) => `the last reading of the tracker, at ${last_at}, is too old to start anything`,
    action: ({ next_at }) => `wait: ${next_at === null ? 'it is being read' : `it is read at ${next_at}`}`,
  },
  no_hold_workflow: hold('no hold because of the workflow'),
  no_hold_store: hold('no hold because of the store'),
  no_hold_tracker: hold('no hold because of the tracker'),
  no_hold_disk: hold('no hold because of the disk'),
  no_hold_budget: hold('no hold because of the daily token budget'),
  no_hold_agent: hold('no hold because of the agent'),
  probe_turn: {
    passes: 'no other issue probes a hold first',
    why({ codes, first }) {
      const then = first === null ? '' : `; ${first} is tried first`;
      return `on hold (${codes.join(', ')}) until one run shows that the cause is gone${then}`;
    },
    action: ({ first }) => (first === null ? 'wait for that run' : `wait for the run of ${first}`),
  },
  wanted: {
    passes: 'this daemon works on every issue',
    why: ({ only }) =>
      only === null
        ? 'this daemon gives each issue one run and exits, and this one had its run or came too late'
        : `this daemon works only on ${only} and exits`,
    action: () => 'start a daemon that stays: `baton`',
  },
  global_slot: {
    passes: 'a slot is free',
    why({ limit, has_free, taken_by }) {
      const named = `${taken_by.slice(0, MAX_NAMED).join(', ')}${taken_by.length > MAX_NAMED ? ', …' : ''}`;
      const who = has_free ? ', and others are before it in line' : named === '' ? '' : `, all taken by ${named}`;
      return `no free slot: agent.max_concurrent_agents is ${limit}${who}`;
    },
    action: ({ has_free }) =>
      has_free ? 'wait, or raise its priority in the tracker' : 'wait, or raise agent.max_concurrent_agents',
  },
  state_slot: {
    passes: 'a slot for its state is free',
    why: ({ state }) => `no free slot for issues in "${state}": agent.max_concurrent_agents_by_state`,
    action: ({ state }) => `wait, or raise the limit of "${state}" in agent.max_concurrent_agents_by_state`,
  },
  read_answered: {
    passes: 'it is not being read',
    why: () => 'it is read once more before it starts',
    action: () => 'wait: it takes a moment',
  },
};

function whyLater({ error, reason, failures, runs_without_progress: idleRuns }: RuleParams['due']): string {
  if (error !== null) return `, after ${failures === 1 ? 'a failure' : `${failures} failures in a row`}: ${error}`;
  if (reason !== 'continuation') return ` (${reason})`;
  if (idleRuns === 0) return ', when it is checked again after a successful run';
  return `: ${idleRuns === 1 ? 'its last run' : `its last ${idleRuns} runs`} left the issue unchanged`;
}

const GROUPS: { readonly [R in EligibilityRule]: string } = {
  complete: 'incomplete',
  not_terminal: 'in a terminal state',
  active_state: 'not in an active state',
  dispatchable: 'not assigned to this daemon',
  not_blocked: 'blocked',
  blockers_at_rest: 'waiting for the run of a blocker',
  trusted_author: 'with an untrusted author',
  required_labels: 'without a required label',
  not_claimed: 'claimed already',
  not_being_removed: 'being cleaned up',
  budget_left: 'out of tokens',
};
