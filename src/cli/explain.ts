import { explainRules } from '../api/explain.js';
import { findKnownIssue, knownIssues } from '../api/issue-view.js';
import type { IssueView, RuleView } from '../api/schemas.js';
import { nearestWord } from '../domain/nearest-word.js';
import { localiseTimes } from '../text/format-time.js';
import { ruleText } from '../text/rules.js';
import { oneLine, pad, wrap } from '../text/terminal-text.js';
import { ApiError, connectDaemon, type DaemonTarget, getIssue, isNotRunning, printDaemonError } from './client.js';
import { type Io, printJson, printProblem } from './io.js';
import { openWorkflow } from './open-workflow.js';
import { type SimulatedPoll, simulatePoll } from './simulate-poll.js';
import { type Paint, paintOf, wantsColour, widthOfOutput } from './terminal.js';

export interface ExplainOptions {
  readonly issue: string;
  readonly json: boolean;
  readonly target: DaemonTarget;
}

/** The output of `--json`. */
interface Explanation extends Pick<IssueView, 'issue_identifier' | 'title' | 'state'> {
  readonly status: IssueView['status'] | 'unknown';
  readonly daemon: boolean;
  readonly rules: readonly RuleView[];
}

/** Prints every rule that keeps an issue from running. Reads the tracker itself when the daemon does not know the issue or none is running. */
export async function explain(options: ExplainOptions, io: Io): Promise<number> {
  try {
    const answer = await askDaemon(options, io);
    if (typeof answer !== 'string' && answer.rules.length > 0) return print(answer, options, io);
    return await explainFromTracker(options, answer !== 'no daemon', io);
  } catch (error) {
    return printDaemonError(error, io);
  }
}

async function askDaemon(
  { issue, target }: ExplainOptions,
  io: Io,
): Promise<Explanation | 'no daemon' | 'unknown issue'> {
  try {
    const client = await connectDaemon(target, io);
    const view = await getIssue(client, issue).finally(() => client.close());
    const { issue_identifier, title, state, status, rules } = view;
    return { issue_identifier, title, state, status, daemon: true, rules };
  } catch (error) {
    if (isNotRunning(error)) return 'no daemon';
    if (error instanceof ApiError && error.code === 'issue_not_found') return 'unknown issue';
    throw error;
  }
}

/** A daemon knows issues in active states only; the tracker shows why this one is not among them. */
async function explainFromTracker(options: ExplainOptions, daemon: boolean, io: Io): Promise<number> {
  const { workflow = 'WORKFLOW.md', stateDir } = options.target;
  const opened = await openWorkflow(workflow, stateDir, io);
  return simulatePoll(opened, io, async (poll) => {
    const explanation = await explainPolled(options.issue, poll);
    if (explanation !== null) return print({ ...explanation, daemon }, options, io, poll.redactor.mask);
    return printProblem(poll.redactor.mask(unknownIssueMessage(options.issue, poll)), 1, io);
  });
}

async function explainPolled(
  name: string,
  { state, now, issueById }: SimulatedPoll,
): Promise<Omit<Explanation, 'daemon'> | null> {
  const known = findKnownIssue(state, name);
  const issue = known?.issue ?? (await issueById(name));
  if (issue === null) return null;
  const rules = explainRules(state, now, issue, known?.claim ?? null);
  return { issue_identifier: issue.identifier, title: issue.title, state: issue.state, status: 'unknown', rules };
}

function unknownIssueMessage(name: string, { state }: SimulatedPoll): string {
  const { poll, config } = state;
  if (poll.failure) return `${poll.failure.code}: the tracker cannot be read: ${poll.failure.message}`;
  const identifiers = knownIssues(state).map(({ issue }) => issue.identifier);
  const near = nearestWord(name, identifiers);
  const message = `there is no issue ${name} in ${config.tracker.activeStates.join(', ')}, and none with that id`;
  return near === null ? message : `${message}. Did you mean ${near}?`;
}

function print(explanation: Explanation, { json }: ExplainOptions, io: Io, mask = (text: string) => text): 0 {
  if (json) {
    printJson(explanation, io);
    return 0;
  }
  const { issue_identifier, title, state, daemon, rules } = explanation;
  const paint = paintOf(wantsColour(io));
  const frame = { nowMs: Date.now(), width: widthOfOutput(io), paint };
  const name = `${paint.bold(oneLine(issue_identifier))}  ${oneLine(`${title} (${state})`)}`;
  const note = daemon ? [] : ['No daemon is running. This is what one would find now:', ''];
  const text = [...note, name, headline(explanation), '', renderRules(rules, frame)].join('\n');
  io.stdout.write(`${mask(text)}\n`);
  return 0;
}

function headline({ status, rules, daemon }: Explanation): string {
  const failing = rules.filter(({ pass }) => !pass).length;
  const isRunning = status === 'running' || status === 'asking';
  if (failing > 0 && isRunning) return 'It is running and cannot continue.';
  if (failing > 0) return `It does not run: ${failing === 1 ? 'one rule prevents' : `${failing} rules prevent`} it.`;
  if (isRunning) return 'It is running.';
  return daemon ? 'No rule prevents it: it is about to start.' : 'No rule would prevent it from running.';
}

interface RulesFrame {
  readonly nowMs: number;
  readonly width: number;
  readonly paint: Paint;
}

const MAX_LINES = 20;

/** A line per rule. Failing rules come first, with the advice against each; the same advice is printed once. */
function renderRules(rules: readonly RuleView[], frame: RulesFrame): string {
  const column = Math.max(...rules.map(({ rule }) => rule.length));
  const failing = rules.filter(({ pass }) => !pass);
  const passing = rules.filter(({ pass }) => pass);
  const isFirst = ({ action }: RuleView, at: number) => failing.findIndex((rule) => rule.action === action) === at;
  return [
    ...failing.flatMap((rule, at) => failingLines(isFirst(rule, at) ? rule : { ...rule, action: null }, column, frame)),
    ...(failing.length > 0 && passing.length > 0 ? [''] : []),
    ...passing.map(({ rule }) => passingLine(rule, column, frame)),
  ].join('\n');
}

function failingLines({ rule, why, action }: RuleView, column: number, { nowMs, width, paint }: RulesFrame): string[] {
  const indent = ' '.repeat(column + 4);
  const fit = (text: string, columns: number) =>
    wrap(oneLine(localiseTimes(text, nowMs)), Math.max(30, columns), MAX_LINES);
  const [first = '', ...others] = fit(why ?? '', width - indent.length);
  const [advice, ...moreAdvice] = action === null ? [] : fit(action, width - indent.length - 2);
  return [
    `${paint.red('✗')} ${paint.bold(pad(oneLine(rule), column))}  ${first}`,
    ...others.map((line) => `${indent}${line}`),
    ...(advice === undefined ? [] : [`${indent}${paint.cyan('→')} ${advice}`]),
    ...moreAdvice.map((line) => `${indent}  ${line}`),
  ];
}

function passingLine(rule: string, column: number, { paint }: RulesFrame): string {
  return `${paint.green('✓')} ${pad(oneLine(rule), column)}  ${paint.dim(ruleText(rule))}`;
}
