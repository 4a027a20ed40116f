import type { DurableChange } from './durable.js';
import type { Issue } from './issue.js';
import type { Note } from './note.js';
import type { RunReason, StopReason } from './run.js';
import type { Answer, Question } from './run-signal.js';

/** An order of the core. `perform.ts` carries it out; results come back as events. */
export type Effect =
  /** One observation: read the issues `ids`, the candidates in `states`, and the free disk space. */
  | { readonly type: 'poll'; readonly seq: number; readonly ids: readonly string[]; readonly states: readonly string[] }
  | { readonly type: 'read_issues'; readonly seq: number; readonly ids: readonly string[] }
  | { readonly type: 'persist'; readonly seq: number; readonly change: DurableChange }
  | { readonly type: 'start_run'; readonly order: StartOrder }
  /** For a run that an earlier daemon left: end its processes and run the `after_run` that it owes. */
  | { readonly type: 'close_run'; readonly order: StartOrder }
  | { readonly type: 'stop_run'; readonly runId: string; readonly reason: StopReason }
  | { readonly type: 'answer_run'; readonly runId: string; readonly questionId: string; readonly answer: Answer }
  | { readonly type: 'steer_run'; readonly runId: string; readonly text: string }
  | { readonly type: 'remove_workspace'; readonly issue: Issue }
  | { readonly type: 'note'; readonly note: Note }
  | { readonly type: 'exit'; readonly forced: boolean }
  /** Close the daemon and open it again with its new settings. Nothing is active. */
  | { readonly type: 'reopen' };

export interface StartOrder {
  readonly runId: string;
  readonly workflowHash: string;
  readonly issue: Issue;
  /** Counts the runs of this issue, across claims and restarts. */
  readonly number: number;
  readonly reason: RunReason;
  /** For templates: null on the first run of a claim, 1 after a normal exit, else the consecutive failures. */
  readonly attempt: number | null;
  /** The thread to resume after a restart or an answer. */
  readonly resume: ResumeOrder | null;
}

export interface ResumeOrder {
  readonly threadId: string;
  /** An answer that was given while the run had no process. */
  readonly answer: { readonly question: Question; readonly answer: Answer } | null;
  /** When the thread last received the comments; absent when unknown. */
  readonly commentsReadAtMs?: number;
}
