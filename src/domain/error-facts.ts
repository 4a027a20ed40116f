/**
 * What is true of every error with a code. `scope` says who is at fault: `issue` backs off and retries that issue
 * alone, `daemon` would hit every issue alike and so holds the daemon, `park` waits for a person, `none` is not a
 * failure (we ended the run ourselves). `retryable` is about one step inside a run, and has nothing to do with the orchestrator's backoff.
 */
export type ErrorScope = 'issue' | 'daemon' | 'park' | 'none';

export interface ErrorFacts {
  readonly scope: ErrorScope;
  readonly retryable: boolean;
  readonly text: string;
  readonly action: string;
}

export const facts = (scope: ErrorScope, retryable: boolean, text: string, action: string): ErrorFacts => ({
  scope,
  retryable,
  text,
  action,
});
