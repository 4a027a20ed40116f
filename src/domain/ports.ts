import type { Durable, DurableChange, FinishedIssue, RunRecord } from './durable.js';
import type { StartOrder } from './effects.js';
import type { Comment, Issue } from './issue.js';
import type { JsonObject } from './json.js';
import type { HistoryEvent } from './note.js';
import type { StopReason } from './run.js';
import type { Answer, TokenTotals } from './run-signal.js';
import type { Workflow } from './workflow.js';

/** Where issues come from. Adapters throw `BatonError` with a `tracker_…` code and nothing else. */
export interface Tracker {
  readonly kind: string;
  /** Names what this tracker looks at (endpoint and project): the owner of workspaces, the key of the instance lock. */
  readonly scope: string;
  readonly defaults: { readonly activeStates: readonly string[]; readonly terminalStates: readonly string[] };
  issuesByStates(states: readonly string[], signal: AbortSignal): Promise<IssueBatch>;
  /** An id that is in neither `issues` nor `unknown` does not exist any more. */
  issuesByIds(ids: readonly string[], signal: AbortSignal): Promise<IssueBatch>;
  /** The names of the states into which an issue can be moved, as far as they are known by now; empty: not known. */
  readonly states: readonly string[];
  /** What of an issue can be changed, as far as it is known by now; absent: all of it. */
  readonly changes?: readonly (keyof IssueChange)[];
  /** Moves an issue, comments on it, or both. What the tracker will not do is `tracker_refused`, with the reason for the agent. */
  update(issueId: string, change: IssueChange, signal: AbortSignal): Promise<IssueUpdate>;
  /** Tools of this tracker that agents may call besides `update_issue`; they run on the host. */
  tools(): readonly HostTool[];
  /** Asked once before the first poll. Throws `invalid_tracker_config` for what must not start; whatever else it throws is left to the polls. */
  prepare?(signal: AbortSignal): Promise<void>;
  /** The newest comments of people who are trusted, oldest first, for a run that begins. Absent: issues carry them already. */
  readComments?(issue: Issue, signal: AbortSignal): Promise<readonly Comment[]>;
  /** What `baton check` wants to know of the living tracker: a good token and scope, and the names of the states. */
  inspect?(signal: AbortSignal): Promise<TrackerFacts>;
  /** Calls back whenever issues may have changed, until `close`. Absent: only polls tell. Never throws. */
  watch?(callbacks: WatchCallbacks): Promise<void>;
  close(): Promise<void>;
}

export interface IssueBatch {
  readonly issues: readonly Issue[];
  /** Asked for, but neither found nor proven gone (a half-written file, a page that failed). */
  readonly unknown: readonly string[];
  readonly rateLimit?: RateLimit;
  /** What could not be read as an issue, a sentence each, with its place: told to people, and nothing else comes of it. */
  readonly problems?: readonly string[];
}

export interface TrackerFacts {
  /** As whom the token is known there; `null`: the tracker does not tell. */
  readonly user: string | null;
  /** What is looked at, as the tracker calls it. */
  readonly target: string;
  /** Every state that an issue can be in; empty: not known. */
  readonly states: readonly string[];
  /** What works but is not as it should be, a sentence each. */
  readonly warnings: readonly string[];
}

/** At least one of the two. */
export interface IssueChange {
  readonly state?: string;
  readonly comment?: string;
}

export interface IssueUpdate {
  /** Where the issue is now, in the tracker's own spelling. */
  readonly state: string;
  /** The tracker took the change, but nobody could look whether it made it: why, as a sentence. */
  readonly doubt?: string;
}

export interface WatchCallbacks {
  onChange(): void;
  /** Watching does not work (any more): polls still do. */
  onError(error: Error): void;
}

export interface RateLimit {
  readonly remaining: number;
  readonly resetAtMs: number;
  /** What this very read took of it; absent: not known. */
  readonly cost?: number;
}

export interface HostTool {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: JsonObject;
  call(input: unknown, context: { readonly issue: Issue; readonly runId: string }): Promise<HostToolResult>;
}

export interface HostToolResult {
  readonly success: boolean;
  readonly text: string;
  /** The state into which the tool moved the run's own issue. */
  readonly movedTo?: string;
  /** The tracker refused it, and will until then. */
  readonly limitedUntilMs?: number;
}

/** What outlives the process. Writes are ordered; a resolved `write` is safe on disk. */
export interface Store {
  load(): Promise<Durable>;
  write(change: DurableChange): Promise<void>;
  readonly owners: WorkspaceOwners;
  readonly openRuns: OpenRunStore;
  readonly past: StoredPast;
  /** Remembers an event, the last ones only. Never throws; it is on disk with the next write, or a second later. */
  addEvent(event: HistoryEvent): void;
  /** Forgets runs and spending that are older than that. A clock that is far ahead by mistake must not empty the store. */
  prune(keep: { readonly days: number; readonly nowMs: number }): Promise<void>;
  close(): Promise<void>;
}

/** What was, for people who ask later. Everything comes newest first, and no more of it than asked for. */
export interface StoredPast {
  /** `issue`: its identifier or id. Runs that have not ended are among them. */
  runs(filter: {
    readonly issue?: string;
    readonly sinceMs?: number;
    readonly limit: number;
  }): Promise<readonly RunRecord[]>;
  finished(filter: { readonly sinceMs: number; readonly limit: number }): Promise<readonly FinishedIssue[]>;
  /** From that local day (`YYYY-MM-DD`) on; a day on which nothing happened is not there. */
  days(sinceDay: string): Promise<readonly DayRecord[]>;
  events(filter: { readonly issue?: string; readonly limit: number }): Promise<readonly HistoryEvent[]>;
}

/** One local day: what was spent on it, the runs that ended, and the issues that were done. */
export interface DayRecord extends TokenTotals {
  readonly day: string;
  /** What counts against budgets: input − cached + output. */
  readonly tokens: number;
  readonly runs: number;
  readonly failed: number;
  readonly done: number;
}

/** What runs and removals have under way in the system: a daemon that finds some at its start must end or make up for it. */
export interface OpenRunStore {
  all(): Promise<readonly OpenRun[]>;
  put(run: OpenRun): Promise<void>;
  remove(marker: string): Promise<void>;
}

export interface OpenRun {
  /** What its processes are marked with: the run's id, or that of a removal. */
  readonly marker: string;
  readonly issueId: string;
  /** The key of the workspace in which `before_run` may have begun while `after_run` has not ended; `null`: none is owed. */
  readonly owesAfterRunIn: string | null;
  readonly processes: readonly RecordedProcess[];
}

/** Told apart from a later process of the same number by when it started, and in which life of the machine. */
export interface RecordedProcess {
  readonly pid: number;
  readonly startTime: string;
  readonly bootId: string;
}

/** Which issue a workspace folder belongs to. */
export interface WorkspaceOwners {
  all(): Promise<readonly WorkspaceOwner[]>;
  put(owner: WorkspaceOwner): Promise<void>;
  remove(key: string): Promise<void>;
}

export interface WorkspaceOwner {
  readonly key: string;
  readonly scope: string;
  readonly issueId: string;
  readonly identifier: string;
}

/** Keeps daemons that see the same issues from running one at the same time. */
export interface IssueLocks {
  /** Throws `issue_taken`. The answer gives it back; to do so twice does no harm. */
  take(issue: Pick<Issue, 'id' | 'identifier'>): Promise<() => Promise<void>>;
  close(): Promise<void>;
}

/** Carries runs through. Everything it has to say comes back as events; no method throws. */
export interface Runner {
  start(order: StartOrder, workflow: Workflow): void;
  /** A run that an earlier daemon began and did not end: leads to one `run_exited` like a start. */
  close(order: StartOrder, workflow: Workflow): void;
  stop(runId: string, reason: StopReason): void;
  answer(runId: string, questionId: string, answer: Answer): void;
  steer(runId: string, text: string): void;
  removeWorkspace(issue: Issue, workflow: Workflow): Promise<RemovalReport>;
  /** Free space of the disk that holds the workspaces, in MB; `null` when it cannot be told. */
  freeDiskMb(workflow: Workflow): Promise<number | null>;
}

export type RemovalReport = { readonly ok: true } | { readonly ok: false; readonly message: string };
