import type { Config } from './config.js';
import type { BatonError, ErrorCode } from './errors.js';
import type { JsonObject } from './json.js';
import type { Plan, PromptSource } from './steps/plan.js';

/** One reading of WORKFLOW.md. A run keeps the one it started with. */
export interface Workflow {
  readonly path: string;
  readonly dir: string;
  /** The home of the user, with global executors and capabilities. */
  readonly homeDir: string;
  /** SHA-256 of what was read, executor definitions and code files included: its identity. */
  readonly hash: string;
  readonly config: Config;
  readonly prompt: PromptSource;
  readonly plan: Plan;
  /** Names of the environment variables that hold secrets of tracker and services; they are kept from agents and hooks. */
  readonly secretNames: readonly string[];
  readonly warnings: readonly WorkflowProblem[];
  /** The files of the project and of `~/.baton` that it runs. Absent: they are not compared. */
  readonly files?: CodeFiles;
}

/** SHA-256 by path, relative to the folder of WORKFLOW.md or, with `~/`, to the home. */
export interface CodeFiles {
  readonly [path: string]: string;
}

/** A content of WORKFLOW.md that a person allowed. What it decides about code and permissions stays until another one is allowed. */
export interface AllowedContent {
  readonly path: string;
  /** `Workflow.hash` */
  readonly hash: string;
  /** What may change only after a person allows it, by setting. */
  readonly parts: { readonly [key: string]: AllowedPart };
  /** The text of the file, for a later diff. */
  readonly text: string;
  readonly atMs: number;
}

export interface AllowedPart {
  /** SHA-256 of the value. */
  readonly hash: string;
  /** The value for people; null when it may be secret, or is long. */
  readonly shown: string | null;
}

/** A content of WORKFLOW.md that waits until a person allows it. */
export interface HeldContent {
  readonly hash: string;
  readonly sinceMs: number;
  /** One line for each changed setting. */
  readonly changes: readonly string[];
  /** A unified diff of the file. May contain secrets. */
  readonly diff: string;
}

/** 1-based. */
export interface Position {
  readonly line: number;
  readonly column: number;
}

/** One fault of WORKFLOW.md or of a file that belongs to it, or one warning about it. */
export interface WorkflowProblem {
  readonly code: ErrorCode | WarningCode;
  /** What the text is about, for programs: the unknown key, the variable. */
  readonly params: JsonObject;
  /** The name of the file in messages; null for a flag or a variable. */
  readonly file: string | null;
  readonly at: Position;
  readonly text: string;
}

/** What a warning is about. A warning can also carry an error code, when a fault does no harm where it is. */
export type WarningCode =
  | 'unknown_key'
  | 'overridden_key'
  | 'invalid_entry'
  | 'no_active_state'
  | 'ambiguous_state'
  | 'literal_secret'
  | 'literal_variable'
  | 'workflow_in_workspace_root'
  | 'yaml'
  | 'unfilled_text'
  | 'issue_text_in_code'
  | 'undeclared_input'
  | 'executor_skipped';

/** `WORKFLOW.md:7:14 agent.max_turns must be a positive integer, got "many"` */
export function formatProblem({ file, at, text }: Pick<WorkflowProblem, 'file' | 'at' | 'text'>): string {
  return file === null ? text : `${file}:${at.line}:${at.column} ${text}`;
}

/** The problems that a workflow error is about, when it was thrown with them. */
export function problemsOf({ details }: BatonError): readonly WorkflowProblem[] {
  return (details.problems as readonly WorkflowProblem[] | undefined) ?? [];
}
