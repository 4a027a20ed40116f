import { createCapabilityExecutor } from '../../runner/executors/capability/capability-executor.js';
import { CapabilityManager } from '../../runner/executors/capability/capability-manager.js';
import { discoverCapabilities } from '../../runner/executors/capability/definitions.js';
import { createCodexExecutor } from '../../runner/executors/codex/codex-executor.js';
import type { Executors } from '../../runner/executors/executors.js';
import { createExternalExecutor } from '../../runner/executors/external/external-executor.js';
import { createAgentServiceExecutor } from '../../runner/executors/http/agent-service-executor.js';
import { createCodeExecutor } from '../../runner/executors/http/code-executor.js';
import { createLlmExecutor } from '../../runner/executors/http/llm-executor.js';
import { createToolExecutor } from '../../runner/executors/http/tool-executor.js';
import { assertRunnable } from '../../runner/steps/assert-runnable.js';
import type { DaemonOptions } from './daemon.js';
import type { Workflow } from '../domain/config.js';
import { resolveSecret } from '../workflow/provider-secrets.js';
import type { RunLog } from './run-log.js';

/** Everything that can run a step, and what the steps of a workflow need besides. */
export interface ExecutorParts {
  readonly executors: Executors;
  readonly capabilities: CapabilityManager;
  checkPlan(workflow: Workflow): Promise<void>;
  secret(written: string): string | null;
}

export function openExecutors(options: DaemonOptions, runLog: RunLog): ExecutorParts {
  const { env, homeDir, redactor, version } = options;
  const capabilities = new CapabilityManager({
    discover: (projectDir) => discoverCapabilities({ projectDir, homeDir }),
  });
  return {
    capabilities,
    executors: {
      agentCli: createCodexExecutor({
        version,
        onStderr: (runId, text) => runLog.agentStderr(runId, text),
      }),
      agentHttp: createAgentServiceExecutor(),
      external: createExternalExecutor(),
      capability: createCapabilityExecutor(capabilities),
      llm: createLlmExecutor(),
      tool: createToolExecutor(),
      code: createCodeExecutor(),
    },
    checkPlan: (workflow) => assertRunnable(workflow.plan, () => capabilities.refresh(workflow.dir)),
    secret(written) {
      const value = resolveSecret(written, env);
      if (value !== null) redactor.add(value);
      return value;
    },
  };
}
