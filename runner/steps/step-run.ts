import type { Clock } from '../../src/domain/clock.js';
import type { Json } from '../../src/domain/json.js';
import type { Outcome } from '../../src/domain/outcome.js';
import type { RunSignal } from '../../src/domain/run-signal.js';
import type { Action } from '../../src/domain/steps/plan.js';
import type { StepContext, StepFacts } from '../executors/executor.js';
import type { Executors } from '../executors/executors.js';
import type { RunObserver } from '../run-observer.js';
import type { Pulse } from './pulse.js';
import type { RenderPrompt } from './render-action.js';

/** What the steps of one run share. */
export interface StepRun {
  readonly runId: string;
  readonly clock: Clock;
  readonly executors: Executors;
  readonly observer: Pick<RunObserver, 'stepStarted' | 'stepFinished' | 'audited' | 'warned'>;
  readonly pulse: Pulse;
  readonly renderPrompt: RenderPrompt;
  readonly maxInlineOutputBytes: number;
  /** The one step of a workflow without `steps:` is the run: it is not told apart, and its outcome is passed on as it is. */
  readonly isImplied: boolean;
  /** Outcomes by idempotency key, also of steps that are still at work. */
  readonly once: Map<string, Promise<Outcome>>;
  /** Counts the executions of steps. */
  nextIndex(): number;
  contextOf(request: ContextRequest): StepContext;
  emit(signal: RunSignal): void;
  /** A step has ended well: the conversation goes on with it. */
  said(stepId: string, output: Json): void;
}

export interface ContextRequest {
  readonly facts: StepFacts;
  readonly action: Action;
  readonly signal: AbortSignal;
  emit(signal: RunSignal): void;
}
