import { expect } from 'vitest';
import { createAgentServiceExecutor } from '../../../../runner/executors/http/agent-service-executor.js';
import { createCodeExecutor } from '../../../../runner/executors/http/code-executor.js';
import { createLlmExecutor } from '../../../../runner/executors/http/llm-executor.js';
import { createToolExecutor } from '../../../../runner/executors/http/tool-executor.js';
import type { FailedOutcome, Outcome } from '../../../../src/domain/outcome.js';
import type {
  CodeAction,
  LlmAction,
  RenderedAgentHttp,
  Service,
  ServiceName,
  ToolAction,
} from '../../../../src/domain/steps/plan.js';
import { type TestStep, type TestStepOptions, testStep } from '../../../support/step-context.js';
import type { Heard, Reply } from './scripted-server.js';

export const TOKEN = 'runner-token-0123456789';

/** A step whose service is at `baseUrl`; the others are not set. `null`: nor is that. */
export function stepOn(
  name: ServiceName,
  baseUrl: string | null,
  settings: Partial<Service> = {},
  options: TestStepOptions = {},
): Promise<TestStep> {
  const service = baseUrl === null ? null : serviceAt(name, baseUrl, settings);
  return testStep({
    isolation: 'none',
    env: { RUNNER_TOKEN: TOKEN },
    workflow: { plan: { services: { [name]: service } } },
    ...options,
  });
}

function serviceAt(name: ServiceName, baseUrl: string, settings: Partial<Service>): Service {
  return {
    name,
    baseUrl,
    tenant: '4711',
    workspaceId: null,
    token: '$RUNNER_TOKEN',
    timeoutMs: null,
    tenantHeader: 'X-Koder-Tenant',
    workspaceHeader: 'X-Koder-Workspace',
    session: 'run',
    validateOutput: false,
    pollIntervalMs: 1,
    ...settings,
  };
}

export const llm = (given: Partial<LlmAction> = {}): LlmAction => ({
  kind: 'llm',
  model: 'm-small',
  prompt: 'Plan it',
  maxTokens: null,
  temperature: null,
  stop: null,
  ...given,
});

export const tool = (given: Partial<ToolAction> = {}): ToolAction => ({
  kind: 'tool',
  tool: 'code-owners',
  args: { labels: ['a'] },
  ...given,
});

export const code = (given: Partial<CodeAction> = {}): CodeAction => ({
  kind: 'code',
  language: 'python',
  source: 'print(1)',
  stdin: null,
  env: {},
  cwd: null,
  ...given,
});

export const agent = (given: Partial<RenderedAgentHttp> = {}): RenderedAgentHttp => ({
  kind: 'agent',
  backend: 'http',
  agent: 'reviewer',
  input: { plan: 'the plan' },
  strategy: null,
  session: null,
  ...given,
});

export const runLlm = (step: TestStep, given?: Partial<LlmAction>) =>
  createLlmExecutor().execute(llm(given), step.context);
export const runTool = (step: TestStep, given?: Partial<ToolAction>) =>
  createToolExecutor().execute(tool(given), step.context);
export const runCode = (step: TestStep, given?: Partial<CodeAction>) =>
  createCodeExecutor().execute(code(given), step.context);
export const runAgent = (step: TestStep, given?: Partial<RenderedAgentHttp>) =>
  createAgentServiceExecutor().execute(agent(given), step.context);

export const completion = (content: unknown = 'A plan') => ({
  id: 'chatcmpl-1',
  model: 'm-small-2026',
  created: 1,
  choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 },
});

export const execution = (given: object = {}) => ({
  exec_id: 'e-1',
  exit_code: 0,
  stdout: '1\n',
  stderr: '',
  duration_ms: 12,
  ...given,
});

/** A sandbox that numbers its sessions and answers every execution with `result`. */
export function sandbox(result: object = execution()) {
  let sessions = 0;
  return ({ method, path }: Heard): Reply => {
    if (method === 'DELETE') return { status: 204 };
    return path.endsWith('/exec') ? { json: result } : { status: 201, json: { id: `s-${++sessions}` } };
  };
}

interface Kind {
  readonly kind: string;
  readonly service: ServiceName;
  run(step: TestStep): Promise<Outcome>;
  /** The response of a working service. */
  good(heard: Heard): Reply;
  /** The path of the request that does the work. */
  readonly path: string;
}

/** The four kinds, for laws that hold for all of them. */
export const KINDS: readonly Kind[] = [
  { kind: 'llm', service: 'gateway', run: runLlm, good: () => ({ json: completion() }), path: '/v1/chat/completions' },
  {
    kind: 'tool',
    service: 'tools',
    run: runTool,
    good: () => ({ json: { output: 1, duration_ms: 1 } }),
    path: '/v1/tools/code-owners/invoke',
  },
  { kind: 'code', service: 'sandbox', run: runCode, good: sandbox(), path: '/v1/sandbox/sessions' },
  {
    kind: 'agent',
    service: 'agents',
    run: runAgent,
    good: () => ({ json: { output: 1, stop_reason: 'done' } }),
    path: '/v1/agents/reviewer/run',
  },
];

export function failed(outcome: Outcome): FailedOutcome['error'] {
  if (outcome.state === 'success') expect.fail(`succeeded with ${JSON.stringify(outcome.output)}`);
  return outcome.error;
}

export function output(outcome: Outcome) {
  if (outcome.state !== 'success') expect.fail(`${outcome.error.code}: ${outcome.error.message}`);
  return outcome.output;
}
