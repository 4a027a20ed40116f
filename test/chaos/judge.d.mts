/** What is written down of a trial, see trial.mjs. */
export interface Evidence {
  readonly point: string;
  readonly plan: { readonly withGit: boolean; readonly isolation: string };
  readonly broken: string | null;
  readonly lives: readonly LifeFacts[];
  readonly marks: readonly Mark[];
  readonly parked: Claim | null;
  readonly expectParked: string | null;
  readonly end: End;
}

export interface LifeFacts {
  readonly startedAtMs: number;
  readonly exit: { readonly code: number | null; readonly signal: string | null };
  readonly wasKilled: boolean;
  readonly mayRefuse: boolean;
  readonly leftovers: readonly string[];
  readonly after: { readonly store: StoreFacts | null; readonly creating: readonly string[] } | null;
  readonly lines: readonly { readonly [key: string]: unknown }[];
}

export interface Mark {
  readonly atMs: number;
  readonly what: string;
  readonly where: string;
  readonly issue: string;
  readonly run: string;
  readonly outcome: string;
}

export interface Claim {
  readonly failures: number;
  readonly status: { readonly kind: string; readonly [key: string]: unknown };
}

export interface StoreFacts {
  readonly claims: { readonly [issue: string]: Claim };
  readonly records: { readonly [issue: string]: { readonly runs: number } };
  readonly openRuns: { readonly [marker: string]: unknown };
  readonly unreadable: number;
  readonly integrity: string;
}

export interface End {
  readonly statuses: { readonly [issue: string]: string };
  readonly store: StoreFacts | null;
  readonly living: readonly string[];
  readonly workspaces: readonly string[];
  readonly creating: readonly string[];
  readonly trash: readonly string[];
  readonly owners: readonly string[];
  readonly tmp: readonly string[];
  readonly saved: readonly string[];
}

export function judge(evidence: Evidence): string[];
