import type { Writable } from 'node:stream';
import { abortsOnFailure } from '../../hooks/run-hook.js';
import { onceResults, skippedIssues } from '../../orchestrator/once.js';
import type { OnceResult, State } from '../../orchestrator/state.js';
import type { RunObserver, StepEnd, StepStart } from '../../runner/run-observer.js';
import { failedRules, lineUp, obstacleToAll } from '../api/why-idle.js';
import type { Instant } from '../domain/clock.js';
import type { OrchestratorEvent } from '../domain/events.js';
import { findIssue, type Issue } from '../domain/issue.js';
import { nearestWord } from '../domain/nearest-word.js';
import type { Outcome } from '../domain/outcome.js';
import type { RuntimeEvent } from '../domain/run-signal.js';
import type { Redactor } from '../logging/redact.js';
import { neutralise } from '../text/neutralise.js';
import { line } from '../text/phrases.js';
import { describeOutcome, isPassing, sentenceOf } from '../text/run-sentences.js';

interface ToldRun {
  readonly issueId: string;
  readonly identifier: string;
  readonly beganAtMs: number;
}

/** Tells a person on a terminal what runs do, a line at a time. */
export class RunPrinter implements Partial<RunObserver> {
  readonly #runs = new Map<string, ToldRun>();

  constructor(
    private readonly out: Writable & { readonly columns?: number },
    private readonly redactor: Redactor,
  ) {}

  runBegan(...[{ runId, issue, number, reason }]: Parameters<RunObserver['runBegan']>): void {
    this.#runs.set(runId, { issueId: issue.id, identifier: issue.identifier, beganAtMs: performance.now() });
    const which = number === 1 ? '' : ` (run ${number}${reason === 'first' ? '' : `, ${reason}`})`;
    this.#say(issue.identifier, `▶ ${line(issue.title)}${which}`);
  }

  runtimeEvent(runId: string, event: RuntimeEvent): void {
    const run = this.#runs.get(runId);
    const sentence = isToldElsewhere(event) ? null : sentenceOf(event);
    if (run && sentence !== null) this.#say(run.identifier, `  ${sentence}`);
  }

  /** A hook that aborts its run is told by the end of the run. */
  hookEnded({ identifier, hook, outcome, message }: Parameters<RunObserver['hookEnded']>[0]): void {
    if (outcome === 'ok' || abortsOnFailure(hook)) return;
    this.#say(identifier, `  ${message === null ? `hook ${hook}: ${outcome}` : message}`);
  }

  stepStarted(runId: string, { stepId, kind, isSkipped }: StepStart): void {
    const run = this.#runs.get(runId);
    if (run && !isSkipped) this.#say(run.identifier, `  ${stepId} (${kind})`);
  }

  /** One that fails is told by the end of the run. */
  stepFinished(runId: string, { stepId, outcome, durationMs }: StepEnd): void {
    const run = this.#runs.get(runId);
    if (!run || (outcome !== 'skipped' && outcome.state !== 'success')) return;
    const how = outcome === 'skipped' ? 'skipped' : `done, ${(durationMs / 1000).toFixed(1)} s`;
    this.#say(run.identifier, `  ${stepId} ${how}`);
  }

  /** What is told of an issue between its runs is about its workspace, where work may have been left. */
  warned(...[runId, message, fields]: Parameters<RunObserver['warned']>): void {
    const { issue_identifier: identifier, detail } = fields;
    if (runId !== null || typeof identifier !== 'string') return;
    this.#say(identifier, `  ${message}${typeof detail === 'string' ? `: ${detail}` : ''}`);
  }

  runEnded(runId: string, outcome: Outcome): void {
    const run = this.#runs.get(runId);
    if (!run) return;
    const seconds = ((performance.now() - run.beganAtMs) / 1000).toFixed(1);
    this.#say(run.identifier, `${markOf(outcome)} ${describeOutcome(outcome)}, ${seconds} s`);
  }

  /** What becomes of an issue after its run, where a person would wonder. */
  decided(event: OrchestratorEvent, { claims }: State, nowMs: number): void {
    const run = event.type === 'run_exited' ? this.#runs.get(event.runId) : undefined;
    if (event.type !== 'run_exited' || !run) return;
    this.#runs.delete(event.runId);
    const status = claims[run.issueId]?.status;
    if (status?.kind === 'parked') this.#say(run.identifier, `  parked as ${status.reason}: ${status.message}`);
    if (status?.kind !== 'waiting' || status.error === null) return;
    this.#say(run.identifier, `  tries again in ${Math.max(0, (status.dueAtMs - nowMs) / 1000).toFixed(1)} s`);
  }

  #say(identifier: string, text: string): void {
    const told = neutralise(this.redactor.mask(`${identifier.padEnd(8)} ${text}`.replace(/\s*\n\s*/g, ' ')));
    this.out.write(`${wrapWithIndent(told, this.out.columns)}\n`);
  }
}

/** Begins that an end will tell, the first turn that goes without saying, and ends of turns that the end of the run tells. */
function isToldElsewhere(event: RuntimeEvent): boolean {
  if (isPassing(event)) return true;
  if (event.type === 'session_started') return event.data?.turn === 1;
  if (event.type === 'notification' && event.method === 'error') return event.data?.willRetry !== true;
  return event.type === 'turn_completed' || event.type === 'turn_failed' || event.type === 'startup_failed';
}

function markOf(outcome: Outcome): string {
  if (outcome.state === 'success') return '✓';
  return outcome.state === 'cancelled' ? '■' : '✗';
}

/** What came of a daemon that worked everything off once, for the person who started it. */
export function formatSummary(state: State, now: Instant): string {
  const { once } = state;
  if (once === null) return '';
  const results = onceResults(state);
  const lines = [headline(results, once.only), ...results.map(lineOf)];
  const asBefore = { ...state, shutdown: null };
  const obstacle = obstacleToAll(asBefore, now);
  if (obstacle !== null) lines.push(`${results.length === 0 ? 'Why' : 'Nothing more was started'}: ${obstacle}.`);
  const inVain = skippedIssues(state).map((issue) => whyInVain(issue, asBefore, now, obstacle));
  if (once.only === null) lines.push(...notStarted(state));
  else if (results.length + inVain.length === 0 && obstacle === null) lines.push(whyNotThisOne(once.only, state));
  lines.push(...inVain);
  if (lines.length === 1 && results.length === 0) lines.push(`No issue is in state ${activeStates(state)}.`);
  lines.push(...state.poll.problems.map((problem) => `Could not be read: ${problem}`));
  return `${lines.map((text) => neutralise(text.replace(/\s*\n\s*/g, ' '))).join('\n')}\n`;
}

function headline(results: readonly OnceResult[], only: string | null): string {
  if (results.length === 0) return only === null ? 'Nothing was started.' : `${only} was not started.`;
  const failed = results.filter(({ ok }) => !ok).length;
  const runs = results.length === 1 ? '1 run' : `${results.length} runs`;
  return failed === 0 ? `${runs}, all well.` : `${runs}, ${failed} failed.`;
}

function lineOf({ identifier, ok, code, message }: OnceResult): string {
  return ok ? `  ✓ ${identifier}` : `  ✗ ${identifier}  ${code}: ${message}`;
}

function notStarted(state: State): string[] {
  const ran = Object.keys(state.once?.results ?? {});
  const parked = Object.entries(state.claims).flatMap(([id, { issue, status }]) =>
    status.kind === 'parked' && !ran.includes(id)
      ? [`  – ${issue.identifier}  not started: parked as ${status.reason}, ${status.message}`]
      : [],
  );
  const ineligible = Object.values(state.candidates).flatMap((issue) => {
    const why = reasonsOf(issue, state);
    return why === '' ? [] : [`  – ${issue.identifier}  not started: ${why}`];
  });
  return [...parked, ...ineligible];
}

/** It could have been started, and was not. */
function whyInVain({ id, identifier }: Issue, state: State, now: Instant, obstacle: string | null): string {
  const place = lineUp(state, now).find(({ ready }) => ready.issue.id === id);
  const why = place
    ? (place.why ?? 'Baton was told to stop before its turn')
    : 'the tracker could not tell how it stands';
  return `  – ${identifier}  not started: ${obstacle === null ? why : 'see above'}`;
}

function whyNotThisOne(name: string, state: State): string {
  const known = [...Object.values(state.candidates), ...Object.values(state.claims).map(({ issue }) => issue)];
  const found = findIssue(known, name, (issue) => issue);
  if (found) return `${reasonsOf(found, state)}.`;
  const near = nearestWord(
    name,
    known.map(({ identifier }) => identifier),
  );
  return `There is no issue of that name in state ${activeStates(state)}.${near === null ? '' : ` Did you mean ${near}?`}`;
}

function activeStates({ config }: State): string {
  return config.tracker.activeStates.map((one) => `"${one}"`).join(' or ');
}

function reasonsOf(issue: Issue, state: State): string {
  return failedRules(issue, state)
    .map(({ why }) => why)
    .join('; ');
}

/** Behind the identifier, where what is told of an issue begins. */
const INDENT = ' '.repeat(11);
const MIN_COLUMNS = 40;

/**
 * Breaks lines as a terminal of that width would, but indents what goes on. Otherwise whoever writes a long enough line
 * decides what stands at the beginning of the next one, where only we speak. Without a width nothing changes.
 */
export function wrapWithIndent(text: string, columns: number | undefined): string {
  if (columns === undefined || columns < MIN_COLUMNS) return text;
  return text
    .split('\n')
    .map((line) => hang(line, columns))
    .join('\n');
}

function hang(line: string, columns: number): string {
  const rows: string[] = [];
  let row = '';
  let width = 0;
  for (const character of line) {
    const own = widthOf(character);
    if (width + own > columns) {
      rows.push(row);
      row = INDENT;
      width = INDENT.length;
    }
    row += character;
    width += own;
  }
  return [...rows, row].join('\n');
}

/** Too wide is a short row, too narrow would let the terminal break it: in doubt wide. */
function widthOf(character: string): number {
  return (character.codePointAt(0) ?? 0) < 0x300 ? 1 : 2;
}
