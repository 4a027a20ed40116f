/** The data that an executor gets and the calls that it may make. Paths are absolute paths of the workspace, or relative to it. */
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

/** The returned value is the result; return `{ result, additionalContext }` for both. A thrown error is the error of the execution. */
export type InvocationHandler = (threadContext: ThreadContext, metadata: InvocationMetadata) => unknown;

export interface CommandResult {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
  /** The middle of a long output was left out. */
  readonly truncated: boolean;
}

export interface SearchMatch {
  readonly path: string;
  /** `null` when the name of the file matches. */
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
  /** With `false` the answer has only the id; getExecutionStatus or getStatus return the end. */
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
  /** Replaces an existing file and creates missing folders. */
  createFile(path: string, content: string): Promise<void>;
  /** The file must exist. */
  updateFile(path: string, content: string): Promise<void>;
  deleteFile(path: string): Promise<void>;
  deleteFolder(path: string): Promise<void>;
  /** Searches contents and names for plain text. Skips .git and node_modules, unless `path` is inside one. */
  searchFiles(query: string, path?: string): Promise<SearchMatch[]>;
  /** A regular expression, line by line. */
  grepSearch(pattern: string, path?: string): Promise<SearchMatch[]>;
};

export const terminal: {
  executeCommand(command: string): Promise<CommandResult>;
  executeCommandRunUntilError(command: string): Promise<CommandResult>;
  /** Stops the running commands. */
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
  /** `name` is the name of an executor. */
  startWithActionBlock: Start;
  startWithCode: Start;
  stop(sideExecutionId: string): Promise<ExecutionAnswer>;
  getStatus(sideExecutionId: string): Promise<ExecutionAnswer>;
};

export const chat: {
  /** Writes to the transcript of the run. */
  sendMessage(text: string): Promise<void>;
  /** Always throws: an executor cannot receive messages of people. */
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
