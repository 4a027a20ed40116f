/** What an executor gets, and what it may call. Paths are those of the workspace, or begin in it. */
export interface ThreadContext {
  readonly threadId: string;
  readonly messages: readonly ThreadMessage[];
  /** The workspace. */
  readonly projectPath: string;
  readonly agentId: string;
  readonly agentInstanceId: string;
  readonly metadata: { readonly [key: string]: unknown };
  readonly params: InvocationParams;
}

export interface InvocationParams {
  readonly capabilityPath?: string;
  readonly capabilityName?: string;
  readonly capabilityType?: string;
  readonly capabilityConfig?: { readonly [key: string]: unknown };
  readonly executionId?: string;
  readonly [key: string]: unknown;
}

export interface ThreadMessage {
  readonly messageId: string;
  readonly threadId: string;
  readonly content: string;
  readonly sender: 'user' | 'agent' | 'system';
  readonly timestamp: string;
  readonly templateType?: string;
  readonly payload?: unknown;
}

export interface InvocationMetadata {
  readonly sideExecutionId: string;
  readonly threadId: string;
  readonly parentAgentId: string;
  readonly parentAgentInstanceId: string;
  readonly timestamp: string;
}

/** What it returns is the result; `{ result, additionalContext }` gives both. What it throws is the error. */
export type InvocationHandler = (threadContext: ThreadContext, metadata: InvocationMetadata) => unknown;

export interface CommandResult {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
  /** The middle of a long output is left out. */
  readonly truncated: boolean;
}

export interface SearchMatch {
  readonly path: string;
  /** `null`: the name of the file matches. */
  readonly line: number | null;
  readonly text: string | null;
}

export interface ExecutionAnswer {
  readonly success: boolean;
  readonly executionId?: string;
  readonly sideExecutionId?: string;
  readonly status?: string;
  readonly result?: unknown;
  readonly additionalContext?: unknown;
  readonly error?: string;
  readonly code?: string;
}

export interface StartOptions {
  /** `false`: answers at once with the id; the end is told by getExecutionStatus or getStatus. */
  readonly wait?: boolean;
}

type Params = { readonly [key: string]: unknown };
type Start = (name: string, params?: Params, timeoutMs?: number, options?: StartOptions) => Promise<ExecutionAnswer>;

export function onActionBlockInvocation(handler: InvocationHandler): void;

export const fs: {
  readFile(path: string): Promise<string>;
  readManyFiles(
    paths: readonly string[],
  ): Promise<{ path: string; success: boolean; content: string; error?: string }[]>;
  /** Replaces a file that is there; makes folders that are not. */
  createFile(path: string, content: string): Promise<void>;
  /** Of a file that is there. */
  updateFile(path: string, content: string): Promise<void>;
  deleteFile(path: string): Promise<void>;
  deleteFolder(path: string): Promise<void>;
  /** Plain text, in contents and names. Leaves out .git and node_modules, unless `path` is in one. */
  searchFiles(query: string, path?: string): Promise<SearchMatch[]>;
  /** A regular expression, line by line. */
  grepSearch(pattern: string, path?: string): Promise<SearchMatch[]>;
};

export const terminal: {
  executeCommand(command: string): Promise<CommandResult>;
  executeCommandRunUntilError(command: string): Promise<CommandResult>;
  /** Ends the commands that run. */
  sendManualInterrupt(): Promise<{ interrupted: number }>;
};

export const project: {
  getProjectPath(): Promise<string>;
  getProjectFiles(): Promise<string[]>;
};

export const capability: {
  startCapability(
    name: string,
    type: string,
    params?: Params,
    timeoutMs?: number,
    options?: StartOptions,
  ): Promise<ExecutionAnswer>;
  startSkill: Start;
  startPower: Start;
  startTalent: Start;
  listCapabilities(type?: string): Promise<{ name: string; type: string; version: string; description: string }[]>;
  listSkills(): Promise<{ name: string; type: string; version: string; description: string }[]>;
  stopCapability(executionId: string): Promise<ExecutionAnswer>;
  getExecutionStatus(executionId: string): Promise<ExecutionAnswer>;
  getActiveExecutions(): Promise<{ [key: string]: unknown }[]>;
};

export const sideExecution: {
  /** By the name of an executor. */
  startWithActionBlock: Start;
  startWithCode: Start;
  stop(sideExecutionId: string): Promise<ExecutionAnswer>;
  getStatus(sideExecutionId: string): Promise<ExecutionAnswer>;
};

export const chat: {
  /** Into the transcript of the run. */
  sendMessage(text: string): Promise<void>;
  /** Always throws: an executor cannot hear people. */
  waitForReply(text: string): Promise<void>;
};

export const codebolt: {
  onActionBlockInvocation: typeof onActionBlockInvocation;
  fs: typeof fs;
  terminal: typeof terminal;
  project: typeof project;
  capability: typeof capability;
  sideExecution: typeof sideExecution;
  chat: typeof chat;
};
