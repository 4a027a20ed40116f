import { mkdtempSync, realpathSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { ActiveRun } from '../../../runner/active-run.js';
import type { StepContext } from '../../../runner/executors/executor.js';
import { RunContext, type RunServices } from '../../../runner/run-context.js';
import { combineObservers } from '../../../runner/run-observer.js';
import { runPlan } from '../../../runner/steps/run-plan.js';
import type { Workspace } from '../../../runner/workspace/workspace-folder.js';
import type { Clock } from '../../../src/domain/clock.js';
import type { StartOrder } from '../../../src/domain/effects.js';
import type { OrchestratorEvent } from '../../../src/domain/events.js';
import { cancelled, failure, type Outcome, success } from '../../../src/domain/outcome.js';
import type { Action, Step } from '../../../src/domain/steps/plan.js';
import { realClock } from '../../runner/contain/workbench.js';
import { allExecutors } from '../../support/all-executors.js';
import { IMPLIED_PLAN, issue, workflow } from '../../support/builders.js';
import { parallel, step } from './step-fixture.js';

/** Real processes with a clock that ends every limit at once, until a process is reported as unkillable. */
function planned(
  steps: readonly Step[],
  execute: (id: string, context: StepContext) => Promise<Outcome>,
  changes: Partial<RunServices> = {},
) {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'baton-plan-')));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const { dev, ino } = statSync(folder);
  const told: string[] = [];
  const hurried: Clock = {
    now: realClock.now,
    after(ms, act) {
      if (told.length > 0) return realClock.after(ms, act);
      act();
      return () => {};
    },
  };
  const used = workflow({ plan: { ...IMPLIED_PLAN, isImplied: false } });
  const order: StartOrder = {
    ...{ runId: 'run-1', workflowHash: 'h', issue: issue('A'), number: 1 },
    ...{ reason: 'first', attempt: null, resume: null },
  };
  const run = new ActiveRun(order, { ...used, plan: { ...used.plan, steps } }, realClock, () => {});
  const services = {
    clock: realClock,
    containment: { kind: 'none', reason: 'a test', bash: 'bash', clock: hurried },
    workspaces: { verify: async () => {}, ownFolder: async () => ({ path: folder, dev: 0n, ino: 0n }) },
    tools: () => [],
    executors: allExecutors((_, context) => execute(context.step.id, context)),
    baseEnv: { PATH: process.env.PATH },
    checkFiles: async () => {},
    observer: combineObservers([]),
    dispatch: (event: OrchestratorEvent) => void told.push(event.type),
    ...changes,
  } as unknown as RunServices;
  const workspace = { path: folder, identity: { dev, ino } } as Workspace;
  return { told, outcome: runPlan(new RunContext(run, order, services, workspace, folder)) };
}

test('when a process cannot be killed, parallel steps are ended and no further step starts', async () => {
  const begun: string[] = [];
  const { outcome, told } = planned(
    [parallel([[step('stuck')], [step('other')]], { join: 'any' }), step('next')],
    async (id, { start, signal, environment }) => {
      begun.push(id);
      if (id === 'other') {
        await new Promise((resolve) => signal.addEventListener('abort', resolve));
        return cancelled(signal.reason);
      }
      const { env } = environment({});
      const child = await start({ file: 'sleep', args: ['1000'], env, cwd: null, stdin: 'ignore', channel: false });
      await child.stop();
      return success(null);
    },
  );

  expect(await outcome).toMatchObject({
    state: 'failed',
    error: { code: 'unkillable', message: 'processes of step "stuck" survive SIGKILL' },
  });
  expect(told).toEqual(['run_unkillable']);
  expect(begun).toEqual(['stuck', 'other']);
});

test('a step whose context cannot be created fails and leaves no timer', async () => {
  let timers = 0;
  const { outcome } = planned([step('a', { timeoutMs: 60_000 })], async () => success(null), {
    tools: () => {
      throw new Error('no tools today');
    },
    clock: {
      now: realClock.now,
      after(ms, act) {
        timers += 1;
        const cancel = realClock.after(ms, act);
        return () => {
          timers -= 1;
          cancel();
        };
      },
    },
  });

  expect(await outcome).toMatchObject({
    state: 'failed',
    error: { message: expect.stringContaining('no tools today') },
  });
  expect(timers).toBe(0);
});

test('a run that fails after its agent was at work reports the number of turns', async () => {
  const agent: Action = {
    ...{ kind: 'agent', backend: 'cli', maxTurns: 1, session: null },
    prompt: { text: 'go', startLine: 1, file: 'WORKFLOW.md' },
  };
  const { outcome } = planned([step('work', { action: agent }), step('bad')], async (id, { emit }) => {
    if (id === 'bad') return failure('SERVICE_REJECTED', 'no');
    emit({ type: 'session', threadId: 't', turnId: 'u', turn: 1 });
    emit({ type: 'usage', threadId: 't', totals: { input: 9, cached: 1, output: 2 } });
    return success(null);
  });

  expect(await outcome).toMatchObject({
    state: 'failed',
    meta: { turns: 1, usage: { input: 9, cached: 1, output: 2 } },
  });
});
