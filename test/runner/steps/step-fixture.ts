import { ActiveRun } from '../../../runner/active-run.js';
import type { StepContext } from '../../../runner/executors/executor.js';
import { RunContext, type RunServices } from '../../../runner/run-context.js';
import { combineObservers, type StepEnd, type StepStart } from '../../../runner/run-observer.js';
import { executeSteps } from '../../../runner/steps/execute-steps.js';
import { RunScope } from '../../../runner/steps/run-scope.js';
import type { Workspace } from '../../../runner/workspace/workspace-folder.js';
import type { StartOrder } from '../../../src/domain/effects.js';
import type { Json, JsonObject } from '../../../src/domain/json.js';
import { type AbortReason, type Outcome, success } from '../../../src/domain/outcome.js';
import type { RunSignal } from '../../../src/domain/run-signal.js';
import type {
  ActionStep,
  FanOutStep,
  LoopStep,
  ParallelStep,
  RenderedAction,
  Step,
  ToolAction,
} from '../../../src/domain/steps/plan.js';
import { allExecutors } from '../../support/all-executors.js';
import { IMPLIED_PLAN, issue, workflow } from '../../support/builders.js';
import { FakeClock } from '../../support/fake-clock.js';

const BASE = { place: 'WORKFLOW.md:9:5', when: null, outputTo: null } as const;

/** A step of kind `tool`. The test replaces its executor and sets only the fields it needs. */
export function step(id: string, changes: Partial<ActionStep> & { readonly args?: JsonObject } = {}): ActionStep {
  const { args = {}, ...rest } = changes;
  const action: ToolAction = { kind: 'tool', tool: id, args };
  return { ...BASE, shape: 'action', id, action, retry: null, timeoutMs: null, idempotencyKey: null, ...rest };
}

export function parallel(branches: readonly (readonly Step[])[], changes: Partial<ParallelStep> = {}): ParallelStep {
  return { ...BASE, shape: 'parallel', id: 'side-by-side', branches, join: 'all', ...changes };
}

export function fanOut(items: Json, steps: readonly Step[], changes: Partial<FanOutStep> = {}): FanOutStep {
  return { ...BASE, shape: 'fan_out', id: 'spread', items, steps, maxWorkers: 4, join: 'all', ...changes };
}

export function loop(steps: readonly Step[], changes: Partial<LoopStep> = {}): LoopStep {
  return { ...BASE, shape: 'loop', id: 'again', maxIterations: 3, breakWhen: null, items: null, steps, ...changes };
}

/** One execution that ends when the test resolves it. */
export interface Call {
  readonly id: string;
  readonly action: RenderedAction;
  readonly context: StepContext;
  end(outcome: Outcome): void;
}

export interface TestSteps {
  readonly clock: FakeClock;
  /** The calls of executors, in order. */
  readonly calls: readonly Call[];
  readonly started: readonly StepStart[];
  readonly finished: readonly StepEnd[];
  readonly signals: readonly RunSignal[];
  readonly warnings: readonly string[];
  run(steps: readonly Step[]): Promise<Outcome>;
  /** The next execution that has not been handed out yet. */
  next(): Promise<Call>;
  abort(reason: AbortReason): void;
}

/** The step loop on a clock that stands still. `answer` decides at once; without it each call waits for the test. */
export function testSteps(
  answer?: (action: RenderedAction, context: StepContext) => Outcome,
  inputs: JsonObject = {},
): TestSteps {
  const clock = new FakeClock();
  const controller = new AbortController();
  const calls: Call[] = [];
  const started: StepStart[] = [];
  const finished: StepEnd[] = [];
  const signals: RunSignal[] = [];
  const warnings: string[] = [];
  let handedOut = 0;
  let onCall = () => {};
  const executors = allExecutors(async (action, context) => {
    if (answer) {
      calls.push({ id: context.step.id, action, context, end: () => {} });
      return answer(action, context);
    }
    return new Promise((end) => {
      calls.push({ id: context.step.id, action, context, end });
      onCall();
    });
  });
  const order: StartOrder = {
    runId: 'run-1',
    workflowHash: 'h',
    issue: issue({ id: '7', identifier: 'AB-7', title: 'Do ${steps.a.output} it' }),
    number: 2,
    reason: 'first',
    attempt: null,
    resume: null,
  };
  const used = workflow({
    plan: { ...IMPLIED_PLAN, isImplied: false },
    config: { runtime: { maxInlineOutputBytes: 1_000 } },
  });
  const services = {
    ...{ clock, executors },
    tools: () => [],
    observer: combineObservers([
      {
        stepStarted: (_, start) => void started.push(start),
        stepFinished: (_, end) => void finished.push(end),
        warned: (_, message) => void warnings.push(message),
      },
    ]),
  } as unknown as RunServices;
  const active = new ActiveRun(order, used, clock, (signal) => void signals.push(signal));
  const workspace = { path: '/w' } as Workspace;
  const run = new RunContext(active, order, services, workspace, '/tmp');
  const facts = {
    issue: order.issue as unknown as JsonObject,
    attempt: null,
    run: { id: 'run-1', number: 2, reason: 'first', workspace: '/w' },
  };
  return {
    clock,
    calls,
    started,
    finished,
    signals,
    warnings,
    run: (steps) =>
      executeSteps(steps, { run, scope: RunScope.begin(facts, inputs), signal: controller.signal, within: [] }),
    async next() {
      while (calls.length <= handedOut) {
        await new Promise<void>((resolve) => {
          onCall = resolve;
        });
      }
      return calls[handedOut++] as Call;
    },
    abort: (reason) => controller.abort(reason),
  };
}

/** Whatever it is asked, it gives its arguments back. */
export const echo = (action: RenderedAction): Outcome => success(action.kind === 'tool' ? action.args : null);

/** Lets everything that is ready to go on do so. */
export const settle = () => new Promise<void>((resolve) => setImmediate(resolve));
