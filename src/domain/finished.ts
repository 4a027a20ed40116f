/** An issue that Baton had runs on and that has left its hands: done, or handed over to people. */
export interface FinishedIssue {
  readonly issueId: string;
  readonly identifier: string;
  readonly title: string;
  readonly url: string | null;
  /** Where it went. */
  readonly state: string;
  /** `false`: it left the active states without being done, as for a review. */
  readonly isTerminal: boolean;
  readonly atMs: number;
  /** Of the issue, up to then. */
  readonly runs: number;
  readonly tokens: number;
}

/** What the state keeps of them; the store has them all. */
export const FINISHED_KEPT = 200;

/** One that leaves twice without a run in between has left once. */
export function finishedKey({ issueId, runs }: FinishedIssue): string {
  return `${runs}:${issueId}`;
}
