import type { Json, JsonObject } from '../json.js';

/**
 * The steps of a run, loaded from `steps:` of WORKFLOW.md. Every reference is resolved, every `auto` is replaced, and every fault
 * that is visible before a run has been rejected. Plain JSON; a run keeps the plan that it started with.
 */
export interface Plan {
  /** WORKFLOW.md has no `steps:`: one agent step whose prompt is the body. */
  readonly isImplied: boolean;
  readonly steps: readonly Step[];
  /** `inputs:`, with their `${…}` as written; rendered once when a run begins. */
  readonly inputs: JsonObject;
  readonly backend: ResolvedBackend;
  /** Usable external executors, by name. */
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
  /** From the step, its definition or its service; null: only the stall limit applies. */
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

/** How many branches must succeed: all, one, or this number. */
export type Join = 'all' | 'any' | number;

export interface RetryPolicy {
  /** Tries in all. */
  readonly maxAttempts: number;
  readonly initialBackoffMs: number;
  readonly backoffCapMs: number;
  readonly strategy: 'exponential' | 'linear';
}

/** The work of a step. Only the fields marked `${…}` are filled in. */
export type Action = AgentCliAction | CommonAction;
export type RenderedAction = RenderedAgentCli | RenderedAgentHttp | Exclude<CommonAction, AgentHttpAction>;

type CommonAction = AgentHttpAction | ExternalAction | CapabilityAction | LlmAction | ToolAction | CodeAction;

export interface AgentCliAction {
  readonly kind: 'agent';
  readonly backend: 'cli';
  /** Liquid: the prompt of the step, or the body of WORKFLOW.md. */
  readonly prompt: PromptSource;
  readonly maxTurns: number;
  /** Only `http` has sessions. Load and run reject one here. */
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
  /** Files, relative to the folder of WORKFLOW.md. */
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
  /** `${…}`; data that is not text is written as JSON. */
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
  /** The defining file, for messages, and the folder that a relative command starts from. */
  readonly file: string;
  readonly dir: string;
}

export const SERVICE_NAMES = ['gateway', 'sandbox', 'tools', 'agents'] as const;
export type ServiceName = (typeof SERVICE_NAMES)[number];

/** The service that steps over HTTP send their requests to. */
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
  /** sandbox: the scope of a session. */
  readonly session: 'run' | 'step';
  /** tools: check outputs against their schema. */
  readonly validateOutput: boolean;
  /** agents: time between polls of a long run. */
  readonly pollIntervalMs: number;
}

export type Backend = 'http' | 'cli';

/** The value of `backend: auto`, and what decided it. */
export interface ResolvedBackend {
  readonly value: Backend;
  readonly source: 'flag' | 'BATON_BACKEND' | 'ORBIT_BACKEND' | 'runtime.backend' | 'built-in';
  /** The deciding value was `auto`, which means the built-in value. */
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

/** The text of a prompt and its position in the file. */
export interface PromptSource {
  readonly text: string;
  /** 1-based line of WORKFLOW.md on which `text` begins; 0 for the built-in prompt. */
  readonly startLine: number;
  /** 1-based column at which its lines begin; absent: 1. */
  readonly startColumn?: number;
  /** The lines differ from those of the file (`>`, or quoted over several lines), so only the start is known. */
  readonly isFolded?: boolean;
  readonly file: string;
}
