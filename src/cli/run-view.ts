import type { Writable } from 'node:stream';
import { abortsOnFailure } from '../../hooks/hook-policy.js';
import type { State } from '../../orchestrator/state.js';
import type { RunObserver, StepEnd, StepStart } from '../../runner/run-observer.js';
import type { OrchestratorEvent } from '../domain/events.js';
import { neutralise } from '../text/neutralise.js';
import type { Outcome } from '../domain/outcome.js';
import type { RuntimeEvent } from '../domain/runtime-event.js';
import type { Redactor } from '../logging/redact.js';
import { describeOutcome } from '../narrate/describe-outcome.js';
import { line } from '../text/phrases.js';
import { isPassing, sentenceOf } from '../text/run-sentences.js';
import { hangingLines } from './hanging-lines.js';

interface ToldRun {
  readonly issueId: string;
  readonly identifier: string;
  readonly beganAtMs: number;
}

/** Tells a person on a terminal what runs do, a line at a time. */
export class RunTeller implements Partial<RunObserver> {
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
    this.out.write(`${hangingLines(told, this.out.columns)}\n`);
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
