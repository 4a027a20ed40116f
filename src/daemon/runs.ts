import { CapabilityManager, createCapabilityExecutor } from '../../runner/executors/capability/capability-manager.js';
import { discoverCapabilities } from '../../runner/executors/capability/definitions.js';
import { createCodexExecutor } from '../../runner/executors/codex/codex-executor.js';
import { createExternalExecutor } from '../../runner/executors/external/external-executor.js';
import { createAgentServiceExecutor } from '../../runner/executors/http/agent-service-executor.js';
import { createCodeExecutor } from '../../runner/executors/http/code-executor.js';
import { createLlmExecutor } from '../../runner/executors/http/llm-executor.js';
import { createToolExecutor } from '../../runner/executors/http/tool-executor.js';
import type { RunServices } from '../../runner/run-context.js';
import { assertRunnable } from '../../runner/steps/run-plan.js';
import { assertCodeFiles } from '../workflow/code-files.js';
import { resolveSecret } from '../workflow/secrets.js';
import type { DaemonOptions } from './options.js';

// What only runs need. Half of the code of the daemon; it is loaded while the start waits for something else.
export { RunPool } from '../../runner/run-pool.js';
export { createWorkSaver } from '../../runner/workspace/save-work.js';

type ExecutorServices = Pick<RunServices, 'executors' | 'checkPlan' | 'checkFiles' | 'secret'>;

/** The executors, and the services of runs that belong to them. */
export function createExecutors(
  options: DaemonOptions,
): ExecutorServices & { readonly capabilities: CapabilityManager } {
  const { env, homeDir, redactor, version } = options;
  const capabilities = new CapabilityManager({
    discover: (projectDir) => discoverCapabilities({ projectDir, homeDir }),
  });
  return {
    capabilities,
    executors: {
      agentCli: createCodexExecutor({ version }),
      agentHttp: createAgentServiceExecutor(),
      external: createExternalExecutor(),
      capability: createCapabilityExecutor(capabilities),
      llm: createLlmExecutor(),
      tool: createToolExecutor(),
      code: createCodeExecutor(),
    },
    checkPlan: async (workflow) => {
      await assertRunnable(workflow.plan, () => capabilities.refresh(workflow.dir));
      await assertCodeFiles(workflow);
    },
    checkFiles: assertCodeFiles,
    secret(written) {
      const value = resolveSecret(written, env);
      if (value !== null) redactor.add(value);
      return value;
    },
  };
}
