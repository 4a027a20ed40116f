import type { Json, JsonObject } from './json.js';

/** The folder of the tracker `local` when `tracker.provider.path` is not set, relative to WORKFLOW.md. */
export const DEFAULT_BACKLOG = './backlog';

/** The front matter of WORKFLOW.md after parsing: complete, typed, frozen and plain JSON. Secrets are not in it. */
export interface Config {
  readonly tracker: TrackerConfig;
  readonly polling: { readonly intervalMs: number };
  readonly workspace: WorkspaceConfig;
  readonly hooks: HooksConfig;
  readonly delivery: DeliveryConfig;
  readonly agent: AgentConfig;
  readonly codex: CodexConfig;
  readonly server: ServerConfig;
  readonly runtime: RuntimeConfig;
  /** `keepDays: null`: forever. */
  readonly store: { readonly keepDays: number | null };
  readonly capabilities: CapabilitiesConfig;
  readonly webhooks: WebhooksConfig;
  readonly notify: NotifyConfig;
  readonly pricing: PricingConfig;
}

export interface WorkspaceConfig {
  readonly root: string;
  readonly minFreeMb: number;
  /** `null`: no limit. */
  readonly maxMb: number | null;
  readonly keepDays: number;
}

export interface TrackerConfig {
  readonly kind: string;
  /** Settings of the adapter. A `$NAME` stays as written; the adapter reads its value through `TrackerOptions.secret`. */
  readonly provider: JsonObject;
  readonly activeStates: readonly string[];
  readonly terminalStates: readonly string[];
  readonly requiredLabels: readonly string[];
  /** Whose issues Baton works on; null: the default of the adapter. */
  readonly trust: Trust | null;
  /** Texts of agents may mention people and command bots. */
  readonly mentions: boolean;
  /** The file has keys of Symphony's flat form, such as `tracker.project_slug`. */
  readonly isFlatForm?: true;
}

export type Trust = 'members' | 'anyone' | readonly string[];

export const HOOK_NAMES = ['after_create', 'before_run', 'after_run', 'before_remove'] as const;
export type HookName = (typeof HOOK_NAMES)[number];

export interface HooksConfig {
  readonly scripts: { readonly [name in HookName]: string | null };
  readonly timeoutMs: number;
  readonly envAllow: readonly string[];
}

/** `ask`: a person must approve the change. `leave_out`: never pushed. `allow`: pushed like any other path. */
export const PATH_ACTIONS = ['ask', 'allow', 'leave_out'] as const;
export type PathAction = (typeof PATH_ACTIONS)[number];

export interface DeliveryConfig {
  /** A Liquid template; null: `baton/<identifier>`. */
  readonly branch: string | null;
  /** By glob. The last match counts; the built-in rules come first. */
  readonly protectedPaths: { readonly [glob: string]: PathAction };
}

export interface AgentConfig {
  readonly maxConcurrentAgents: number;
  /** Keys are `stateKey`s. */
  readonly maxConcurrentAgentsByState: { readonly [state: string]: number };
  readonly maxTurns: number;
  readonly maxRetryBackoffMs: number;
  readonly maxAttempts: number;
  readonly maxRunsWithoutProgress: number;
  readonly maxTokensPerIssue: number | null;
  readonly maxTokensPerDay: number | null;
  readonly finishGraceMs: number;
  readonly inputTimeoutMs: number;
  readonly onInputTimeout: 'park' | 'decline';
}

export type ApprovalAnswer = 'accept' | 'decline' | 'ask';

export interface CodexConfig {
  readonly command: string;
  readonly approvalPolicy: Json;
  /** `null`, together with `turnSandboxPolicy`: a permission profile that restricts reading, too. */
  readonly threadSandbox: Json;
  /** `null`: as the thread; for a `threadSandbox` of `workspace-write`, the workspace and the run's TMPDIR. */
  readonly turnSandboxPolicy: Json;
  /** Absolute paths that the agent may read besides those of the permission profile. */
  readonly readable: readonly string[];
  /** MCP servers of the user's own Codex settings that stay on. */
  readonly mcpServers: readonly string[];
  readonly webSearch: boolean;
  readonly onApprovalRequest: ApprovalAnswer;
  /** Silence of the agent during a turn. */
  readonly turnTimeoutMs: number;
  /** The whole turn. */
  readonly maxTurnMs: number;
  readonly readTimeoutMs: number;
  readonly stallTimeoutMs: number;
}

export interface RuntimeConfig {
  readonly env: 'allowlist' | 'inherit';
  readonly envAllow: readonly string[];
  readonly isolation: 'auto' | 'pidns' | 'none';
  /** Processes and threads of a run; null: no limit. */
  readonly maxProcesses: number | null;
  /** `null`: three quarters of the memory of the machine; 0: no limit. */
  readonly maxMemoryMb: number | null;
  readonly cpuWeight: number;
  readonly shutdownTimeoutMs: number;
  /** What agent steps with `backend: auto` run on, unless a flag or a variable decides; null: not set. */
  readonly backend: 'http' | 'cli' | 'auto' | null;
  /** Longer texts in the output of a step are truncated before later steps see them. */
  readonly maxInlineOutputBytes: number;
}

export const CAPABILITY_MODULES = ['fs', 'terminal', 'project', 'capability', 'sideExecution', 'chat'] as const;
export type CapabilityModule = (typeof CAPABILITY_MODULES)[number];

export interface CapabilitiesConfig {
  readonly connectTimeoutMs: number;
  /** What capability executors may call. */
  readonly modules: readonly CapabilityModule[];
}

export interface ServerConfig {
  readonly port: number | null;
  readonly host: string;
  readonly allowedHosts: readonly string[];
  /** As written; a `$NAME` is not resolved. Null: the daemon makes a token, which only changes require. */
  readonly token: string | null;
}

/** A separate listener, on which the tracker announces changes. */
export interface WebhooksConfig {
  /** `null`: none. */
  readonly port: number | null;
  readonly host: string;
  /** As written; a `$NAME` is not resolved. */
  readonly secret: string | null;
}

/** The kinds of notices. */
export const NOTICE_KINDS = ['asking', 'parked', 'hold', 'done', 'daily_report'] as const;
export type NoticeKind = (typeof NOTICE_KINDS)[number];

export interface NotifyConfig {
  /** As written; a `$NAME` is not resolved. */
  readonly url: string | null;
  readonly command: string | null;
  readonly on: readonly NoticeKind[];
  /** Local time of the daily report, `HH:MM`. */
  readonly reportAt: string;
}

export interface PricingConfig {
  readonly currency: string;
  /** By the name of the model, as the agent reports it. Each price is for a million tokens. */
  readonly models: { readonly [model: string]: ModelPrice };
}

export interface ModelPrice {
  readonly input: number;
  readonly cachedInput: number;
  readonly output: number;
}
