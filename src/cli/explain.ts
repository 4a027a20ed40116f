import { explainRules } from '../api/explain.js';
import { findKnownIssue, knownIssues } from '../api/issue-view.js';
import type { IssueView, RuleView } from '../api/schemas.js';
import { nearestWord } from '../domain/nearest-word.js';
import { localiseTimes } from '../text/format-time.js';
import { neutralise } from '../text/neutralise.js';
import { oneLine, pad, wrap } from '../text/terminal-text.js';
import type { DaemonTarget } from './client.js';
import { ApiError, connectDaemon, getIssue, isNotRunning, printDaemonError } from './client.js';
import { type Io, printJson } from './io.js';
import { openWorkflow } from './open-workflow.js';
import { type SimulatedPoll, simulatePoll } from './simulate-poll.js';
import { type Paint, paintOf, wantsColour, widthOfOutput } from './terminal.js';

export interface ExplainOptions {
  readonly issue: string;
  readonly json: boolean;
  readonly target: DaemonTarget;
}

/** What is told of an issue, by a daemon or by our own look at the tracker. */
interface Explanation extends Pick<IssueView, 'issue_identifier' | 'title' | 'state'> {
  readonly status: IssueView['status'] | 'unknown';
  readonly daemon: boolean;
  readonly rules: readonly RuleView[];
}

/** Tells every rule that keeps an issue from running. Where the daemon cannot tell, or there is none, it looks at the tracker itself. */
export async function explain(options: ExplainOptions, io: Io): Promise<number> {
  try {
    const told = await askDaemon(options, io);
    if (told !== null && told !== 'no daemon' && told.rules.length > 0) return tell(told, options, io);
    return await lookHere(options, told !== 'no daemon', io);
  } catch (error) {
    return printDaemonError(error, io);
  }
}

/** `null`: it does not know the issue. */
async function askDaemon({ issue, target }: ExplainOptions, io: Io): Promise<Explanation | 'no daemon' | null> {
  try {
    const client = await connectDaemon(target, io);
    const view = await getIssue(client, issue).finally(() => client.close());
    const { issue_identifier, title, state, status, rules } = view;
    return { issue_identifier, title, state, status, daemon: true, rules };
  } catch (error) {
    if (isNotRunning(error)) return 'no daemon';
    if (error instanceof ApiError && error.code === 'issue_not_found') return null;
    throw error;
  }
}

/** A daemon only knows issues in active states; the tracker knows why this one is not among them. */
async function lookHere(options: ExplainOptions, daemon: boolean, io: Io): Promise<number> {
  const { workflow = 'WORKFLOW.md', stateDir } = options.target;
  const opened = await openWorkflow(workflow, stateDir, io);
  return simulatePoll(opened, io, async (look) => {
    const told = await explainHere(options.issue, look);
    if (told !== null) return tell({ ...told, daemon }, options, io, look);
    io.stderr.write(`baton: ${neutralise(look.redactor.mask(notThere(options.issue, look)))}\n`);
    return 1;
  });
}

async function explainHere(
  name: string,
  { state, now, issueById }: SimulatedPoll,
): Promise<Omit<Explanation, 'daemon'> | null> {
  const found = findKnownIssue(state, name);
  const issue = found?.issue ?? (await issueById(name));
  if (issue === null) return null;
  const { identifier: issue_identifier, title } = issue;
  const rules = explainRules(state, now, issue, found?.claim ?? null);
  return { issue_identifier, title, state: issue.state, status: 'unknown', rules };
}

function tell(told: Explanation, { json }: ExplainOptions, io: Io, look?: SimulatedPoll): number {
  if (json) {
    printJson(told, io);
    return 0;
  }
  const paint = paintOf(wantsColour(io));
  const frame = { nowMs: Date.now(), width: widthOfOutput(io), paint };
  const name = `${paint.bold(oneLine(told.issue_identifier))}  ${oneLine(`${told.title} (${told.state})`)}`;
  const alone = told.daemon ? [] : ['No daemon is running. This is what one would find now:', ''];
  const text = [...alone, name, headline(told), '', renderRules(told.rules, frame)].join('\n');
  io.stdout.write(`${look ? look.redactor.mask(text) : text}\n`);
  return 0;
}

function headline({ status, rules, daemon }: Explanation): string {
  const failing = rules.filter(({ pass }) => !pass).length;
  const isRunning = status === 'running' || status === 'asking';
  if (failing > 0 && isRunning) return 'It is running, and cannot go on.';
  if (failing > 0)
    return `It does not run: ${failing === 1 ? 'one rule keeps' : `${failing} rules keep`} it from running.`;
  if (isRunning) return 'It is running: nothing is in its way.';
  return daemon ? 'Nothing is in its way: it is about to start.' : 'Nothing would be in its way.';
}

function notThere(name: string, { state }: SimulatedPoll): string {
  const { poll, config } = state;
  if (poll.failure) return `${poll.failure.code}: the tracker cannot be read: ${poll.failure.message}`;
  const near = nearestWord(
    name,
    knownIssues(state).map(({ issue }) => issue.identifier),
  );
  const message = `there is no issue ${name} in ${config.tracker.activeStates.join(', ')}, and none with that id`;
  return near === null ? message : `${message}. Did you mean ${near}?`;
}

export interface RulesFrame {
  readonly nowMs: number;
  readonly width: number;
  readonly paint: Paint;
}

const MAX_LINES = 20;

/** Every rule in a line, those that fail first, with what to do about it; what helps against two is said once. */
export function renderRules(rules: readonly RuleView[], frame: RulesFrame): string {
  const column = Math.max(...rules.map(({ rule }) => rule.length));
  const failed = rules.filter(({ pass }) => !pass);
  const isSaid = ({ action }: RuleView, at: number) => failed.findIndex((one) => one.action === action) < at;
  const failing = failed.flatMap((rule, at) =>
    failingLines(isSaid(rule, at) ? { ...rule, action: null } : rule, column, frame),
  );
  const passing = rules
    .filter(({ pass }) => pass)
    .map(({ rule }) => `${frame.paint.green('✓')} ${pad(oneLine(rule), column)}  ${frame.paint.dim(wordsOf(rule))}`);
  return [...failing, ...(failing.length > 0 && passing.length > 0 ? [''] : []), ...passing].join('\n');
}

function failingLines({ rule, why, action }: RuleView, column: number, { nowMs, width, paint }: RulesFrame): string[] {
  const indent = ' '.repeat(column + 4);
  const fit = (text: string, columns: number) =>
    wrap(oneLine(localiseTimes(text, nowMs)), Math.max(30, columns), MAX_LINES);
  const [first = '', ...rest] = fit(why ?? '', width - indent.length);
  const [todo, ...more] = action === null ? [] : fit(action, width - indent.length - 2);
  return [
    `${paint.red('✗')} ${paint.bold(pad(oneLine(rule), column))}  ${first}`,
    ...rest.map((line) => `${indent}${line}`),
    ...(todo === undefined ? [] : [`${indent}${paint.cyan('→')} ${todo}`]),
    ...more.map((line) => `${indent}  ${line}`),
  ];
}

function wordsOf(rule: string): string {
  return Object.hasOwn(RULE_WORDS, rule) ? (RULE_WORDS[rule] ?? '') : '';
}

/** What holds when a rule passes. */
export const RULE_WORDS: { readonly [rule: string]: string } = {
  complete: 'it has an id, an identifier, a title and a state',
  not_terminal: 'its state is not a terminal one',
  active_state: 'its state is an active one',
  dispatchable: 'the tracker says that it is ours to work on',
  not_blocked: 'what it depends on is done',
  blockers_at_rest: 'nothing works any more on what it depends on',
  trusted_author: 'its author may start work here',
  required_labels: 'it has the required labels',
  not_being_removed: 'its workspace is not being removed',
  budget_left: 'it has tokens left to spend',
  not_being_stopped: 'no run of it is being ended',
  no_open_question: 'it waits for no answer',
  not_parked: 'it is not parked',
  processes_gone: 'nothing is left of an earlier run',
  due: 'its next run need not wait',
  not_shutting_down: 'the daemon is not shutting down',
  not_paused: 'the daemon is not paused',
  not_rate_limited: 'the tracker does not limit our requests',
  tracker_readable: 'the tracker can be read',
  tracker_read: 'the tracker has been read',
  reading_fresh: 'what is known of the tracker is fresh',
  no_hold_workflow: 'no hold because of the workflow',
  no_hold_store: 'no hold because of the store',
  no_hold_tracker: 'no hold because of the tracker',
  no_hold_disk: 'no hold because of the disk',
  no_hold_budget: 'no hold because of the budget of the day',
  no_hold_agent: 'no hold because of the agent',
  probe_turn: 'nobody else is tried first under a hold',
  wanted: 'this daemon works on every issue',
  global_slot: 'a slot is free',
  state_slot: 'a slot for its state is free',
  read_answered: 'it is not being read right now',
};
