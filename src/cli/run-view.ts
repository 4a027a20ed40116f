import type { Writable } from 'node:stream';
import { abortsOnFailure } from '../../hooks/run-hook.js';
import { failedRules } from '../../orchestrator/eligibility.js';
import { awaitsPush } from '../../orchestrator/held-push.js';
import { onceResults, skippedIssues } from '../../orchestrator/once.js';
import type { OnceResult, State } from '../../orchestrator/state.js';
import type { RunObserver, StepEnd, StepStart } from '../../runner/run-observer.js';
import { lineUp, obstacleToAll } from '../api/why-idle.js';
import type { Instant } from '../domain/clock.js';
import type { OrchestratorEvent } from '../domain/events.js';
import { findIssue, type Issue } from '../domain/issue.js';
import { nearestWord } from '../domain/nearest-word.js';
import type { Outcome } from '../domain/outcome.js';
import type { RuntimeEvent } from '../domain/run-signal.js';
import type { Redactor } from '../logging/redact.js';
import { formatRuntime } from '../text/format-time.js';
import { neutralise } from '../text/neutralise.js';
import { AFTER_RUN_FAILED } from '../text/outcomes.js';
import { batonCommand, line } from '../text/phrases.js';
import { ruleWhy, startObstacle } from '../text/rules.js';
import { describeOutcome, isPassing, sentenceOf } from '../text/run-sentences.js';
import { wrapIndented } from '../text/terminal-text.js';

interface PrintedRun {
  readonly issueId: string;
  readonly identifier: string;
  readonly startedAtMs: number;
}

/** Where the text about an issue begins, after its identifier. */
export const INDENT = ' '.repeat(11);

/** Prints the progress of runs for a person at a terminal, a line at a time. */
export class RunPrinter implements Partial<RunObserver> {
  /** Issues whose last `after_run` failed. */
  readonly unpushed = new Set<string>();
  readonly #runs = new Map<string, PrintedRun>();

  constructor(
    private readonly out: Writable & { readonly columns?: number },
    private readonly redactor: Redactor,
  ) {}

  runBegan(...[{ runId, issue, number, reason }]: Parameters<RunObserver['runBegan']>): void {
    this.#runs.set(runId, { issueId: issue.id, identifier: issue.identifier, startedAtMs: performance.now() });
    const suffix = number === 1 ? '' : ` (run ${number}${reason === 'first' ? '' : `, ${reason}`})`;
    this.#print(issue.identifier, `▶ ${line(issue.title)}${suffix}`);
  }

  runtimeEvent(runId: string, event: RuntimeEvent): void {
    const run = this.#runs.get(runId);
    const sentence = isRedundant(event) ? null : sentenceOf(event);
    if (run && sentence !== null) this.#print(run.identifier, `  ${sentence}`);
  }

  /** A hook that aborts its run is printed with the end of the run. */
  hookEnded({ identifier, hook, outcome, message }: Parameters<RunObserver['hookEnded']>[0]): void {
    const isGood = outcome === 'ok' || outcome === 'held';
    if (hook === 'after_run') this.unpushed[isGood ? 'delete' : 'add'](identifier);
    if (isGood || abortsOnFailure(hook)) return;
    this.#print(identifier, `  ${message === null ? `hook ${hook}: ${outcome}` : message}`);
  }

  stepStarted(runId: string, { stepId, kind, isSkipped }: StepStart): void {
    const run = this.#runs.get(runId);
    if (run && !isSkipped) this.#print(run.identifier, `  ${stepId} (${kind})`);
  }

  /** A failed step is printed with the end of the run. */
  stepFinished(runId: string, { stepId, outcome, durationMs }: StepEnd): void {
    const run = this.#runs.get(runId);
    if (!run || (outcome !== 'skipped' && outcome.state !== 'success')) return;
    const result = outcome === 'skipped' ? 'skipped' : `done, ${formatRuntime(durationMs)}`;
    this.#print(run.identifier, `  ${stepId} ${result}`);
  }

  /** Between runs only warnings about an issue's workspace are printed: work may have been left there. */
  warned(...[runId, message, fields]: Parameters<RunObserver['warned']>): void {
    const { issue_identifier: identifier, detail } = fields;
    if (runId !== null || typeof identifier !== 'string') return;
    this.#print(identifier, `  ${message}${typeof detail === 'string' ? `: ${detail}` : ''}`);
  }

  runEnded(runId: string, outcome: Outcome): void {
    const run = this.#runs.get(runId);
    if (!run) return;
    const runtime = formatRuntime(performance.now() - run.startedAtMs);
    const isUnpushed = outcome.state === 'success' && this.unpushed.has(run.identifier);
    const text = `${describeOutcome(outcome)}, ${runtime}${isUnpushed ? `, but ${AFTER_RUN_FAILED}` : ''}`;
    this.#print(run.identifier, `${isUnpushed ? '✗' : markOf(outcome)} ${text}`);
  }

  /** Prints why an issue was parked, or when it is retried. */
  decided(event: OrchestratorEvent, { claims }: State, nowMs: number): void {
    const run = event.type === 'run_exited' ? this.#runs.get(event.runId) : undefined;
    if (event.type !== 'run_exited' || !run) return;
    this.#runs.delete(event.runId);
    const status = claims[run.issueId]?.status;
    if (status?.kind === 'parked') this.#print(run.identifier, `  parked as ${status.reason}: ${status.message}`);
    if (status?.kind !== 'waiting' || status.error === null) return;
    this.#print(run.identifier, `  tries again in ${formatRuntime(Math.max(0, status.dueAtMs - nowMs))}`);
  }

  #print(identifier: string, text: string): void {
    const row = neutralise(this.redactor.mask(`${identifier.padEnd(8)} ${text}`.replace(/\s*\n\s*/g, ' ')));
    this.out.write(`${wrapIndented(row, this.out.columns, INDENT)}\n`);
  }
}

/** The start of an item whose end is printed too, the first turn, and the end of a turn that the end of the run repeats. */
function isRedundant(event: RuntimeEvent): boolean {
  if (isPassing(event)) return true;
  if (event.type === 'session_started') return event.data?.turn === 1;
  if (event.type === 'notification' && event.method === 'error') return event.data?.willRetry !== true;
  return event.type === 'turn_completed' || event.type === 'turn_failed' || event.type === 'startup_failed';
}

function markOf(outcome: Outcome): string {
  if (outcome.state === 'success') return '✓';
  return outcome.state === 'cancelled' ? '■' : '✗';
}

/** The results of `--once` and `--issue`, and why issues were not started. `unpushed`: identifiers of issues whose `after_run` failed. */
export function formatSummary(state: State, now: Instant, unpushed: ReadonlySet<string> = new Set()): string {
  const { once } = state;
  if (once === null) return '';
  const results = onceResults(state).map((result) => ({ ...result, push: pushText(result, state, unpushed) }));
  const lines = [headline(results, once.only), ...results.map(resultLine)];
  const beforeShutdown = { ...state, shutdown: null };
  const failed = obstacleToAll(beforeShutdown, now);
  const obstacle = failed && startObstacle(failed);
  if (obstacle !== null) lines.push(`${results.length === 0 ? 'Reason' : 'No more runs were started'}: ${obstacle}.`);
  const skipped = skippedIssues(state).map((issue) => skippedLine(issue, beforeShutdown, now, obstacle));
  if (once.only === null) lines.push(...notStartedLines(state));
  else if (results.length + skipped.length === 0 && obstacle === null) lines.push(whyNotStarted(once.only, state));
  lines.push(...skipped);
  if (lines.length === 1 && results.length === 0) lines.push(`No issue is in state ${activeStates(state)}.`);
  lines.push(...state.poll.problems.map((problem) => `Could not be read: ${problem}`));
  return `${lines.map((text) => neutralise(text.replace(/\s*\n\s*/g, ' '))).join('\n')}\n`;
}

interface ShownResult extends OnceResult {
  /** Why the work of a good run is not pushed. */
  readonly push: string | null;
}

function pushText({ identifier, ok }: OnceResult, { claims }: State, unpushed: ReadonlySet<string>): string | null {
  if (!ok) return null;
  const claim = Object.values(claims).find(({ issue }) => issue.identifier === identifier);
  if (claim && awaitsPush(claim)) return `its push waits for an answer: ${batonCommand('answer', identifier)}`;
  return unpushed.has(identifier) ? AFTER_RUN_FAILED : null;
}

function headline(results: readonly ShownResult[], only: string | null): string {
  if (results.length === 0) return only === null ? 'Nothing was started.' : `${only} was not started.`;
  const failed = results.filter(({ ok }) => !ok).length;
  const runs = results.length === 1 ? '1 run' : `${results.length} runs`;
  const unpushed = results.filter(({ push }) => push !== null).length;
  const rest = unpushed === 0 ? '' : `, ${unpushed} not pushed`;
  return `${runs}, ${failed === 0 ? 'no failures' : `${failed} failed`}${rest}.`;
}

function resultLine({ identifier, ok, code, message, push }: ShownResult): string {
  if (push !== null) return `  ✗ ${identifier}  ${push}`;
  return ok ? `  ✓ ${identifier}` : `  ✗ ${identifier}  ${code}: ${message}`;
}

function notStartedLines(state: State): string[] {
  const started = Object.keys(state.once?.results ?? {});
  const parked = Object.entries(state.claims).flatMap(([id, { issue, status }]) =>
    status.kind === 'parked' && !started.includes(id)
      ? [`  – ${issue.identifier}  not started: parked as ${status.reason}, ${status.message}`]
      : [],
  );
  const ineligible = Object.values(state.candidates).flatMap((issue) => {
    const reasons = reasonsOf(issue, state);
    return reasons === '' ? [] : [`  – ${issue.identifier}  not started: ${reasons}`];
  });
  return [...parked, ...ineligible];
}

/** An eligible issue that was not started. */
function skippedLine({ id, identifier }: Issue, state: State, now: Instant, obstacle: string | null): string {
  const entry = lineUp(state, now).find(({ ready }) => ready.issue.id === id);
  const failed = entry?.why ?? null;
  const why =
    failed !== null
      ? startObstacle(failed)
      : entry
        ? 'Baton was stopped before its turn'
        : 'the tracker could not report its state';
  return `  – ${identifier}  not started: ${obstacle === null ? why : 'see above'}`;
}

function whyNotStarted(name: string, state: State): string {
  const known = [...Object.values(state.candidates), ...Object.values(state.claims).map(({ issue }) => issue)];
  const issue = findIssue(known, name, (one) => one);
  if (issue) return `${reasonsOf(issue, state)}.`;
  const identifiers = known.map(({ identifier }) => identifier);
  const near = nearestWord(name, identifiers);
  return `There is no issue of that name in state ${activeStates(state)}.${near === null ? '' : ` Did you mean ${near}?`}`;
}

function activeStates({ config }: State): string {
  return config.tracker.activeStates.map((state) => `"${state}"`).join(' or ');
}

function reasonsOf(issue: Issue, state: State): string {
  return failedRules(issue, state).map(ruleWhy).join('; ');
}
