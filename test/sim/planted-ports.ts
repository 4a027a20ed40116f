import { cancelled } from '../../src/domain/outcome.js';
import type { Runner } from '../../src/domain/ports.js';
import type { Planted } from './planted.js';

/** Bugs in the runner, in performing effects and in limits. */
export const PORTS: readonly Planted[] = [
  {
    name: 'a run counts as exited once it is asked to stop, before its kill is confirmed',
    plant: {
      runner: (runner, life) =>
        withChanges(runner, {
          stop(runId, reason) {
            runner.stop(runId, reason);
            queueMicrotask(() => life.dispatch({ type: 'run_exited', runId, outcome: cancelled(reason) }));
          },
        }),
    },
  },
  {
    name: 'a start is carried out twice',
    plant: {
      perform: (perform) => (effect) => {
        perform(effect);
        if (effect.type === 'start_run') perform(effect);
      },
    },
  },
  {
    name: 'a stop is repeated',
    plant: {
      runner: (runner) =>
        withChanges(runner, {
          stop(runId, reason) {
            runner.stop(runId, reason);
            runner.stop(runId, reason);
          },
        }),
    },
  },
  {
    name: 'the workspace is removed while its run is being stopped',
    plant: {
      perform: (perform, life) => (effect) => {
        perform(effect);
        if (effect.type !== 'stop_run' || effect.reason !== 'terminal') return;
        const issue = life.state?.claims[life.state.runs[effect.runId] ?? '']?.issue;
        if (issue) perform({ type: 'remove_workspace', issue });
      },
    },
  },
  {
    name: 'a removal counts as done when it is ordered',
    plant: {
      runner: (runner) =>
        withChanges(runner, {
          removeWorkspace(issue, workflow) {
            void runner.removeWorkspace(issue, workflow);
            return Promise.resolve({ ok: true });
          },
        }),
    },
  },
  {
    name: 'every issue that is given up loses its workspace',
    plant: {
      perform(perform, life) {
        const issues = new Map(Object.values(life.state?.claims ?? {}).map(({ issue }) => [issue.id, issue]));
        return (effect) => {
          perform(effect);
          for (const { issue } of Object.values(life.state?.claims ?? {})) issues.set(issue.id, issue);
          if (effect.type !== 'persist') return;
          for (const [id, claim] of Object.entries(effect.change.claims)) {
            const issue = issues.get(id);
            const isOrdered = Object.hasOwn(life.state?.removals ?? {}, id);
            if (claim === null && issue && !isOrdered) perform({ type: 'remove_workspace', issue });
          }
        };
      },
    },
  },
  {
    name: 'a left run counts as closed at once: no after_run, no look at its processes',
    plant: {
      runner: (runner, life) =>
        withChanges(runner, {
          close: ({ runId }) =>
            queueMicrotask(() => life.dispatch({ type: 'run_exited', runId, outcome: cancelled('shutdown') })),
        }),
    },
  },
  {
    name: 'a left run is closed twice',
    plant: {
      perform: (perform) => (effect) => {
        perform(effect);
        if (effect.type === 'close_run') perform(effect);
      },
    },
  },
  { name: 'nothing is reaped at boot', plant: { reaps: () => false } },
  {
    name: 'the processes of removals are not reaped at boot',
    plant: { reaps: (marker) => !marker.startsWith('remove-') },
  },
  {
    name: 'a left run is closed without waiting for what outlives SIGKILL',
    plant: {
      runner: (runner, life) =>
        withChanges(runner, {
          close(order, workflow) {
            runner.close(order, workflow);
            life.clock?.after(60_000, () => {
              const outcome = cancelled('shutdown');
              life.dispatch({ type: 'run_exited', runId: order.runId, outcome });
            });
          },
        }),
    },
  },
  {
    name: 'a run that has not stopped after half a minute counts as exited',
    plant: {
      runner: (runner, life) =>
        withChanges(runner, {
          stop(runId, reason) {
            runner.stop(runId, reason);
            const outcome = cancelled(reason);
            life.clock?.after(35_000, () => life.dispatch({ type: 'run_exited', runId, outcome }));
          },
        }),
    },
  },
  {
    name: 'one slot too many',
    plant: {
      config: (config) => ({
        ...config,
        agent: { ...config.agent, maxConcurrentAgents: config.agent.maxConcurrentAgents + 1 },
      }),
    },
  },
  {
    name: 'limits per state are not looked at',
    plant: { config: (config) => ({ ...config, agent: { ...config.agent, maxConcurrentAgentsByState: {} } }) },
  },
  {
    name: 'the core declines where the workflow parks',
    plant: { config: (config) => ({ ...config, agent: { ...config.agent, onInputTimeout: 'decline' } }) },
  },
  {
    name: 'runs are numbered anew in every life',
    plant: {
      perform(perform) {
        const numbers = new Map<string, number>();
        return (effect) => {
          if (effect.type !== 'start_run') return perform(effect);
          const number = (numbers.get(effect.order.issue.id) ?? 0) + 1;
          numbers.set(effect.order.issue.id, number);
          perform({ ...effect, order: { ...effect.order, number } });
        };
      },
    },
  },
  {
    name: 'a stall timer is set at the start and never again',
    plant: {
      runner: (runner, life) =>
        withChanges(runner, {
          start(order, workflow) {
            runner.start(order, workflow);
            const { stallTimeoutMs } = workflow.config.codex;
            life.clock?.after(stallTimeoutMs, () => {
              if (Object.hasOwn(life.state?.runs ?? {}, order.runId)) runner.stop(order.runId, 'stalled');
            });
          },
        }),
    },
  },
];

function withChanges(runner: Runner, changes: Partial<Runner>): Runner {
  return {
    start: (order, workflow) => runner.start(order, workflow),
    close: (order, workflow) => runner.close(order, workflow),
    stop: (runId, reason) => runner.stop(runId, reason),
    answer: (runId, questionId, answer) => runner.answer(runId, questionId, answer),
    steer: (runId, text) => runner.steer(runId, text),
    removeWorkspace: (issue, workflow) => runner.removeWorkspace(issue, workflow),
    freeDiskMb: (workflow) => runner.freeDiskMb(workflow),
    ...changes,
  };
}
