import { nearestWord } from '../text/nearest-word.js';
import { neutralise } from '../text/neutralise.js';
import { explainRules } from '../api/explain.js';
import { findIssue, knownIssues } from '../status/find-issue.js';
import type { IssueView, RuleView } from '../status/shapes/issue-shape.js';
import { ApiError, connectDaemon } from './client.js';
import type { DaemonTarget } from './daemon-place.js';
import type { Io } from './io.js';
import { type Look, lookOnce } from './simulate-poll.js';
import { openWorkflow } from './open-workflow.js';
import { oneLine } from '../text/terminal-text.js';
import { paintOf, wantsColour } from './status/paint.js';
import { printJson } from './status/print-json.js';
import { widthOfOutput } from './status/terminal-size.js';
import { getIssue } from './control/get-issue.js';
import { renderRules } from './control/render-rules.js';
import { complainOf, isNotRunning } from './with-daemon.js';

export interface ExplainOptions {
  readonly issue: string;
  readonly json: boolean;
  readonly target: DaemonTarget;
}

/** What is told of an issue, by a daemon or by our own look at the tracker. */
interface Explained extends Pick<IssueView, 'issue_identifier' | 'title' | 'state'> {
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
    return complainOf(error, io);
  }
}

/** `null`: it does not know the issue. */
async function askDaemon({ issue, target }: ExplainOptions, io: Io): Promise<Explained | 'no daemon' | null> {
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
  return lookOnce(opened, io, async (look) => {
    const told = await explainHere(options.issue, look);
    if (told !== null) return tell({ ...told, daemon }, options, io, look);
    io.stderr.write(`baton: ${neutralise(look.redactor.mask(notThere(options.issue, look)))}\n`);
    return 1;
  });
}

async function explainHere(name: string, { state, now, issueById }: Look): Promise<Omit<Explained, 'daemon'> | null> {
  const found = findIssue(state, name);
  const issue = found?.issue ?? (await issueById(name));
  if (issue === null) return null;
  const { identifier: issue_identifier, title } = issue;
  const rules = explainRules(state, now, issue, found?.claim ?? null);
  return { issue_identifier, title, state: issue.state, status: 'unknown', rules };
}

function tell(told: Explained, { json }: ExplainOptions, io: Io, look?: Look): number {
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

function headline({ status, rules, daemon }: Explained): string {
  const failing = rules.filter(({ pass }) => !pass).length;
  const isRunning = status === 'running' || status === 'asking';
  if (failing > 0 && isRunning) return 'It is running, and cannot go on.';
  if (failing > 0)
    return `It does not run: ${failing === 1 ? 'one rule keeps' : `${failing} rules keep`} it from running.`;
  if (isRunning) return 'It is running: nothing is in its way.';
  return daemon ? 'Nothing is in its way: it is about to start.' : 'Nothing would be in its way.';
}

function notThere(name: string, { state }: Look): string {
  const { poll, config } = state;
  if (poll.failure) return `${poll.failure.code}: the tracker cannot be read: ${poll.failure.message}`;
  const near = nearestWord(
    name,
    knownIssues(state).map(({ issue }) => issue.identifier),
  );
  const message = `there is no issue ${name} in ${config.tracker.activeStates.join(', ')}, and none with that id`;
  return near === null ? message : `${message}. Did you mean ${near}?`;
}
