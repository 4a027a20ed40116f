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

/** Globs: a pattern without a slash matches a name in any folder. */
export interface ReadManyOptions {
  readonly include?: readonly string[];
  readonly exclude?: readonly string[];
  /** Folders with all folders below them; true by default. */
  readonly recursive?: boolean;
  /** Leaves out .git and node_modules; true by default. */
  readonly use_default_excludes?: boolean;
  readonly max_files?: number;
  readonly max_total_size?: number;
}

export interface ListDirectoryOptions {
  readonly ignore?: readonly string[];
  readonly show_hidden?: boolean;
  /** With size, permissions and time. */
  readonly detailed?: boolean;
  readonly limit?: number;
}

export interface DirectoryEntry {
  readonly name: string;
  readonly path: string;
  readonly type: 'file' | 'directory' | 'symlink' | 'other';
  readonly isHidden: boolean;
  readonly size?: number;
  readonly permissions?: string;
  readonly modifiedTime?: string;
}

export interface GrepOptions {
  readonly includePattern?: string;
  readonly excludePattern?: string;
  /** True by default. */
  readonly caseSensitive?: boolean;
}

export interface CapabilityFilter {
  readonly type?: string;
  /** At least one of them. */
  readonly tags?: readonly string[];
  readonly author?: string;
}

export interface CapabilityDescription {
  readonly id: string;
  readonly name: string;
  readonly type: string;
  readonly version: string;
  readonly description: string;
  readonly path: string;
  readonly metadata: { readonly [key: string]: unknown };
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
  /** Files, folders and globs (`src/**\/*.ts`), together at most 100 files and 8 MiB. */
  readManyFiles(
    paths: readonly string[],
    options?: ReadManyOptions,
  ): Promise<{ path: string; success: boolean; content: string; error?: string }[]>;
  /** Replaces an existing file and creates missing folders. */
  createFile(path: string, content: string): Promise<void>;
  /** Creates missing folders above it as well. */
  createFolder(path: string): Promise<void>;
  /** The file must exist. */
  updateFile(path: string, content: string): Promise<void>;
  deleteFile(path: string): Promise<void>;
  deleteFolder(path: string): Promise<void>;
  listDirectory(path?: string, options?: ListDirectoryOptions): Promise<DirectoryEntry[]>;
  /** Searches contents and names for plain text. Skips .git and node_modules, unless `path` is inside one. */
  searchFiles(query: string, path?: string, options?: { readonly filePattern?: string }): Promise<SearchMatch[]>;
  /** A regular expression, line by line. */
  grepSearch(pattern: string, path?: string, options?: GrepOptions): Promise<SearchMatch[]>;
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
  /** All of a type, or those that match a filter. */
  listCapabilities(filter?: string | CapabilityFilter): Promise<CapabilityDescription[]>;
  listSkills(): Promise<CapabilityDescription[]>;
  getCapabilityDetail(name: string, type?: string): Promise<CapabilityDescription>;
  listExecutors(): Promise<{ name: string; supportedTypes: string[]; entryPoint: string; path: string }[]>;
  stopCapability(executionId: string): Promise<ExecutionAnswer>;
  getExecutionStatus(executionId: string): Promise<ExecutionAnswer>;
  getActiveExecutions(): Promise<{ [key: string]: unknown }[]>;
};

export const sideExecution: {
  /** `name` is the name of an executor, its folder, or a folder of the workspace with executor.yaml or dist/index.js. */
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
