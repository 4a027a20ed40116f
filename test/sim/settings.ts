import type { Config } from '../../src/domain/config.js';
import type { Workflow } from '../../src/domain/workflow.js';
import { config, workflow } from '../support/builders.js';
import { ACTIVE, LABEL, TERMINAL } from './board.js';
import type { Random } from './random.js';

/** A realistic workflow, with limits small enough to be reached. */
export function drawWorkflow(random: Random, number: number): Workflow {
  return workflow({ hash: `workflow-${number}`, config: drawConfig(random) });
}

function drawConfig(random: Random): Config {
  const byState: Record<string, number> = random.chance(0.4)
    ? { [random.pick(['todo', 'in progress'])]: random.int(1, 2) }
    : {};
  return config({
    tracker: {
      activeStates: ACTIVE,
      terminalStates: TERMINAL,
      requiredLabels: random.chance(0.3) ? [LABEL] : [],
    },
    polling: { intervalMs: random.pick([5_000, 20_000, 30_000, 30_000]) },
    agent: {
      maxConcurrentAgents: random.int(1, 4),
      maxConcurrentAgentsByState: byState,
      maxAttempts: random.pick([0, 2, 3, 5]),
      maxRunsWithoutProgress: random.int(0, 3),
      maxRetryBackoffMs: random.pick([20_000, 60_000, 300_000]),
      maxTokensPerIssue: random.chance(0.4) ? 5_000 : null,
      maxTokensPerDay: random.chance(0.2) ? 20_000 : null,
      finishGraceMs: random.pick([10_000, 120_000]),
      inputTimeoutMs: random.pick([30_000, 600_000]),
      onInputTimeout: random.chance(0.7) ? 'park' : 'decline',
    },
    codex: { stallTimeoutMs: random.pick([30_000, 120_000, 300_000]) },
  });
}
