import type { Json, JsonObject } from '../json.js';

/**
 * What a run does, step by step: `steps:` of WORKFLOW.md after the load. Every reference is resolved, every `auto` is concrete,
 * every fault that can be seen before a run has been refused. Plain JSON; a run keeps the one it started with.
 */
export interface Plan {
  /** WORKFLOW.md has no `steps:`: one agent step whose prompt is the body. */
  readonly isImplied: boolean;
  readonly steps: readonly Step[];
  /** `inputs:`, with their `${…}` as written; rendered once when a run begins. */
  readonly inputs: JsonObject;
  readonly backend: ResolvedBackend;
  /** External executors that can be used, by name. */
  readonly executors: { readonly [name: string]: ExecutorDefinition };
  readonly services: { readonly [name in ServiceName]: Service | null };
}

export type Step = ActionStep | ParallelStep | FanOutStep | LoopStep;

interface StepBase {
  /** Unique in the whole plan. */
  readonly id: string;
  /** `WORKFLOW.md:31:5`, for messages. */
  readonly place: string;
  /** An expression (`expression.ts`); `null`: always. */
  readonly when: string | null;
  readonly outputTo: string | null;
}

/** A step that an executor runs. */
export interface ActionStep extends StepBase {
  readonly shape: 'action';
  readonly action: Action;
  readonly retry: RetryPolicy | null;
  /** Of the step, its definition or its service; `null`: only the stall limit bounds it. */
  readonly timeoutMs: number | null;
  readonly idempotencyKey: string | null;
}

/** All branches at the same time. Each is a list of steps, run in order. */
export interface ParallelStep extends StepBase {
  readonly shape: 'parallel';
  readonly branches: readonly (readonly Step[])[];
  readonly join: Join;
}

/** The same steps for each item, at most `maxWorkers` items at a time. */
export interface FanOutStep extends StepBase {
  readonly shape: 'fan_out';
  /** A list, or a `${…}` that becomes one. */
  readonly items: Json;
  readonly maxWorkers: number;
  readonly steps: readonly Step[];
  readonly join: Join;
}

/** The same steps again and again, until `breakWhen` holds, the items are used up or `maxIterations` is reached. */
export interface LoopStep extends StepBase {
  readonly shape: 'loop';
  readonly maxIterations: number;
  readonly breakWhen: string | null;
  /** A list, or a `${…}` that becomes one; `null`: none. */
  readonly items: Json;
  readonly steps: readonly Step[];
}

/** How many branches must succeed: every one, one, or that many. */
export type Join = 'all' | 'any' | number;

export interface RetryPolicy {
  /** Tries in all. */
  readonly maxAttempts: number;
  readonly initialBackoffMs: number;
  readonly backoffCapMs: number;
  readonly strategy: 'exponential' | 'linear';
}

/** What a step asks of its executor. Text that may hold `${…}` is so marked; nothing else is ever filled in. */
export type Action = AgentCliAction | CommonAction;
export type RenderedAction = RenderedAgentCli | RenderedAgentHttp | Exclude<CommonAction, AgentHttpAction>;

type CommonAction = AgentHttpAction | ExternalAction | CapabilityAction | LlmAction | ToolAction | CodeAction;

export interface AgentCliAction {
  readonly kind: 'agent';
  readonly backend: 'cli';
  /** Liquid: the step's own, or the body of WORKFLOW.md. */
  readonly prompt: PromptSource;
  readonly maxTurns: number;
  /** Only `http` has sessions: the load refuses one here, and so does the run. */
  readonly session: string | null;
}

export interface RenderedAgentCli extends Omit<AgentCliAction, 'prompt'> {
  readonly prompt: string;
}

export interface AgentHttpAction {
  readonly kind: 'agent';
  readonly backend: 'http';
  readonly agent: string;
  readonly prompt: PromptSource;
  /** `${…}`; `null`: `{ prompt }`. */
  readonly input: JsonObject | null;
  readonly strategy: string | null;
  readonly session: string | null;
}

export interface RenderedAgentHttp extends Omit<AgentHttpAction, 'prompt' | 'input'> {
  readonly input: JsonObject;
}

export interface ExternalAction {
  readonly kind: 'external';
  /** A key of `Plan.executors`. */
  readonly executor: string;
  /** `${…}` */
  readonly input: JsonObject;
  readonly model: string | null;
  /** `${…}` */
  readonly envSet: { readonly [name: string]: string };
  readonly description: string;
  readonly tools: readonly string[];
  readonly allowedPrograms: readonly string[];
  /** Files, from the folder of WORKFLOW.md on. */
  readonly skills: readonly string[];
  /** `${…}` */
  readonly memory: JsonObject;
  readonly inputSchema: JsonObject;
  readonly outputSchema: JsonObject;
}

export interface CapabilityAction {
  readonly kind: 'capability';
  readonly type: string;
  readonly name: string;
  /** `${…}` */
  readonly params: JsonObject;
}

export interface LlmAction {
  readonly kind: 'llm';
  readonly model: string;
  /** `${…}` */
  readonly prompt: string;
  readonly maxTokens: number | null;
  readonly temperature: number | null;
  readonly stop: readonly string[] | null;
}

export interface ToolAction {
  readonly kind: 'tool';
  readonly tool: string;
  /** `${…}` */
  readonly args: JsonObject;
}

export interface CodeAction {
  readonly kind: 'code';
  readonly language: string;
  /** `${…}` */
  readonly source: string;
  /** `${…}`; what is not text goes in as JSON. */
  readonly stdin: Json;
  /** `${…}` */
  readonly env: { readonly [name: string]: string };
  readonly cwd: string | null;
}

/** Definition of an external executor: `executors:` in WORKFLOW.md, or a YAML document in `.baton/executors/`. */
export interface ExecutorDefinition {
  readonly name: string;
  /** One transport; `direct_agent` is the older name. */
  readonly type: 'external' | 'direct_agent';
  readonly command: string;
  readonly args: readonly string[];
  /** A value that is wholly `$NAME` stands for a variable of the daemon. */
  readonly env: { readonly [name: string]: string };
  readonly modelFlag: string | null;
  readonly timeoutSeconds: number | null;
  readonly source: 'workflow' | 'project' | 'global';
  /** Where it is defined, for messages; and the folder from which a relative command is found. */
  readonly file: string;
  readonly dir: string;
}

export const SERVICE_NAMES = ['gateway', 'sandbox', 'tools', 'agents'] as const;
export type ServiceName = (typeof SERVICE_NAMES)[number];

/** Where HTTP kinds send their requests, and as whom. */
export interface Service {
  readonly name: ServiceName;
  readonly baseUrl: string;
  readonly tenant: string;
  readonly workspaceId: string | null;
  /** As written: `$NAME` stands for a variable. */
  readonly token: string;
  readonly timeoutMs: number | null;
  readonly tenantHeader: string;
  readonly workspaceHeader: string;
  /** sandbox: how long a session is used. */
  readonly session: 'run' | 'step';
  /** tools: whether outputs are held against their schema. */
  readonly validateOutput: boolean;
  /** agents: time between two looks at a long run. */
  readonly pollIntervalMs: number;
}

export type Backend = 'http' | 'cli';

/** What `backend: auto` has become, and who said so. */
export interface ResolvedBackend {
  readonly value: Backend;
  readonly source: 'flag' | 'BATON_BACKEND' | 'ORBIT_BACKEND' | 'runtime.backend' | 'built-in';
  /** That tier said `auto`, which stands for the built-in value. */
  readonly saidAuto: boolean;
}

/** Every step of the tree, parents before children. */
export function* allSteps(steps: readonly Step[]): Generator<Step> {
  for (const step of steps) {
    yield step;
    if (step.shape === 'parallel') for (const branch of step.branches) yield* allSteps(branch);
    else if (step.shape !== 'action') yield* allSteps(step.steps);
  }
}

/** The text of a prompt, and where in the file it stands. */
export interface PromptSource {
  readonly text: string;
  /** 1-based line of WORKFLOW.md on which `text` begins; 0 for the built-in prompt. */
  readonly startLine: number;
  /** 1-based column at which its lines begin; absent: 1. */
  readonly startColumn?: number;
  /** Its lines are not those of the file (`>`, or quoted over several lines): only where it begins is known. */
  readonly isFolded?: boolean;
  readonly file: string;
}
