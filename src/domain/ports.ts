import type { Durable, DurableChange, FinishedIssue, RunRecord } from './durable.js';
import type { StartOrder } from './effects.js';
import type { Comment, Issue } from './issue.js';
import type { JsonObject } from './json.js';
import type { HistoryEvent } from './note.js';
import type { StopReason } from './run.js';
import type { Answer, TokenTotals } from './run-signal.js';
import type { AllowedContent, Workflow } from './workflow.js';

/** A tracker adapter. Throws only `BatonError` with a `tracker_…` code. */
export interface Tracker {
  readonly kind: string;
  /** Identifies endpoint and project. It is the owner of workspaces and the key of the instance lock. */
  readonly scope: string;
  readonly defaults: { readonly activeStates: readonly string[]; readonly terminalStates: readonly string[] };
  issuesByStates(states: readonly string[], signal: AbortSignal): Promise<IssueBatch>;
  /** An id in neither `issues` nor `unknown` no longer exists. */
  issuesByIds(ids: readonly string[], signal: AbortSignal): Promise<IssueBatch>;
  /** The states into which an issue can be moved, as far as they are known now; empty: unknown. */
  readonly states: readonly string[];
  /** The changes that the tracker can make, as far as they are known now; absent: all. */
  readonly changes?: readonly (keyof IssueChange)[];
  /** Moves an issue, comments on it, or both. Throws `tracker_refused`, with the reason for the agent, when the tracker rejects the change. */
  update(issueId: string, change: IssueChange, signal: AbortSignal): Promise<IssueUpdate>;
  /** Further tools for agents, besides `update_issue`. They run on the host. */
  tools(): readonly HostTool[];
  /** Called once before the first poll. `invalid_tracker_config` ends the start; other errors are left to the polls. */
  prepare?(signal: AbortSignal): Promise<void>;
  /** The newest comments of trusted people, oldest first, for a new run. Absent: issues already contain them. */
  readComments?(issue: Issue, signal: AbortSignal): Promise<readonly Comment[]>;
  /** For `baton check`: tests token and scope, and reads the names of the states. */
  inspect?(signal: AbortSignal): Promise<TrackerFacts>;
  /** Calls back when issues may have changed, until `close`. Absent: changes are seen only by polls. Never throws. */
  watch?(callbacks: WatchCallbacks): Promise<void>;
  close(): Promise<void>;
}

export interface IssueBatch {
  readonly issues: readonly Issue[];
  /** Requested ids that were neither found nor proven gone, because of a half-written file or a failed page. */
  readonly unknown: readonly string[];
  readonly rateLimit?: RateLimit;
  /** One sentence for each entry that is not a readable issue. Shown to people, with no other effect. */
  readonly problems?: readonly string[];
}

export interface TrackerFacts {
  /** The user of the token; null when the tracker does not report it. */
  readonly user: string | null;
  /** The project, as the tracker calls it. */
  readonly target: string;
  /** Every state of issues; empty: unknown. */
  readonly states: readonly string[];
  /** One sentence for each setting that works but should be changed. */
  readonly warnings: readonly string[];
}

/** At least one of the two. */
export interface IssueChange {
  readonly state?: string;
  readonly comment?: string;
}

export interface IssueUpdate {
  /** The state of the issue now, spelled as in the tracker. */
  readonly state: string;
  /** The tracker accepted the change, but reading it back failed: the reason, as a sentence. */
  readonly doubt?: string;
}

export interface WatchCallbacks {
  onChange(): void;
  /** Watching has failed; polls continue. */
  onError(error: Error): void;
}

export interface RateLimit {
  readonly remaining: number;
  readonly resetAtMs: number;
  /** Requests used by this read; absent: unknown. */
  readonly cost?: number;
}

export interface HostTool {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: JsonObject;
  /** A longer input, as JSON, is refused before it is read. The texts of calls are searched on the daemon's thread. */
  readonly maxInputChars: number;
  call(input: unknown, context: { readonly issue: Issue; readonly runId: string }): Promise<HostToolResult>;
}

export interface HostToolResult {
  readonly success: boolean;
  readonly text: string;
  /** The state into which the tool moved the run's own issue. */
  readonly movedTo?: string;
  /** The tracker's rate limit rejects requests until then. */
  readonly limitedUntilMs?: number;
}

/** The stored state. Writes are ordered; `write` resolves when the changes are on disk: all of them, or none when it rejects. */
export interface Store {
  load(): Promise<Durable>;
  write(...changes: readonly DurableChange[]): Promise<void>;
  /** Owner records of versions before 2026-11-18, which kept them here and not beside the workspaces. */
  readonly formerOwners: { all(): Promise<readonly WorkspaceOwner[]>; clear(): Promise<void> };
  readonly openRuns: OpenRunStore;
  /**
   * Called before `load` with the scope of the tracker. What is stored about issues of another scope is dropped, because ids mean nothing there;
   * the history stays. Returns the number of dropped claims.
   */
  useTracker(scope: string): Promise<number>;
  readonly past: StoredPast;
  readonly allowed: AllowedContents;
  /** Stores an event; only the latest are kept. Never throws. The event is on disk with the next write, or a second later. */
  addEvent(event: HistoryEvent): void;
  /** Removes older runs and their tokens. A clock that is wrongly far ahead must not empty the store. */
  prune(keep: { readonly days: number; readonly nowMs: number }): Promise<void>;
  close(): Promise<void>;
}

/** The content of each WORKFLOW.md that was last in effect. */
export interface AllowedContents {
  /** By the path of the file. Returns null when no daemon has started with it. */
  get(path: string): Promise<AllowedContent | null>;
  put(content: AllowedContent): Promise<void>;
}

/** The history, newest first, with at most `limit` entries. */
export interface StoredPast {
  /** `issue`: its identifier or id. Runs that have not ended are among them. */
  runs(filter: {
    readonly issue?: string;
    readonly sinceMs?: number;
    readonly limit: number;
  }): Promise<readonly RunRecord[]>;
  finished(filter: { readonly sinceMs: number; readonly limit: number }): Promise<readonly FinishedIssue[]>;
  /** Days from that local day (`YYYY-MM-DD`) on. Days without any event are omitted. */
  days(sinceDay: string): Promise<readonly DayRecord[]>;
  events(filter: { readonly issue?: string; readonly limit: number }): Promise<readonly HistoryEvent[]>;
}

/** One local day: its tokens, the runs that ended, and the issues that were done. */
export interface DayRecord extends TokenTotals {
  readonly day: string;
  /** What counts against budgets: input − cached + output. */
  readonly tokens: number;
  readonly runs: number;
  readonly failed: number;
  readonly done: number;
}

/** Open runs and workspace removals. A daemon that finds some when it starts ends their processes and runs the hooks they owe. */
export interface OpenRunStore {
  all(): Promise<readonly OpenRun[]>;
  put(...runs: readonly OpenRun[]): Promise<void>;
  /** The record is gone with the next write, or a second later. */
  remove(marker: string): Promise<void>;
}

export interface OpenRun {
  /** The mark of its processes: the id of the run or of the removal. */
  readonly marker: string;
  readonly issueId: string;
  /** The key of the workspace where `before_run` may have started but `after_run` has not ended; null: no hook is owed. */
  readonly owesAfterRunIn: string | null;
  readonly processes: readonly RecordedProcess[];
}

/** Start time and boot id distinguish the process from a later one with the same pid. */
export interface RecordedProcess {
  readonly pid: number;
  readonly startTime: string;
  readonly bootId: string;
}

/** The issue that a workspace folder belongs to. */
export interface WorkspaceOwner {
  readonly key: string;
  readonly scope: string;
  readonly issueId: string;
  readonly identifier: string;
}

/** Prevents two daemons from running the same issue at the same time. */
export interface IssueLocks {
  /** Throws `issue_taken`. The returned function releases the lock and can be called twice. */
  take(issue: Pick<Issue, 'id' | 'identifier'>): Promise<() => Promise<void>>;
  close(): Promise<void>;
}

/** Executes runs. Results come back as events; no method throws. */
export interface Runner {
  start(order: StartOrder, workflow: Workflow): void;
  /** Closes a run that an earlier daemon started. Ends with one `run_exited`, as `start` does. */
  close(order: StartOrder, workflow: Workflow): void;
  stop(runId: string, reason: StopReason): void;
  answer(runId: string, questionId: string, answer: Answer): void;
  steer(runId: string, text: string): void;
  removeWorkspace(issue: Issue, workflow: Workflow): Promise<RemovalReport>;
  /** Free space on the disk of the workspaces, in MB; null when unknown. */
  freeDiskMb(workflow: Workflow): Promise<number | null>;
}

export type RemovalReport = { readonly ok: true } | { readonly ok: false; readonly message: string };
