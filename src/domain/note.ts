/** A log line of the core: a constant message and its fields. */
export interface Note {
  readonly level: 'debug' | 'info' | 'warn' | 'error';
  readonly message: string;
  readonly issueId?: string;
  readonly identifier?: string;
  readonly runId?: string;
  readonly fields?: { readonly [key: string]: unknown };
}

/** A stored note, for the history of the daemon. */
export interface HistoryEvent {
  readonly atMs: number;
  readonly level: Note['level'];
  readonly message: string;
  readonly issueId: string | null;
  readonly identifier: string | null;
  readonly runId: string | null;
  readonly fields: { readonly [key: string]: unknown };
}

export function historyEvent({ level, message, issueId, identifier, runId, fields }: Note, atMs: number): HistoryEvent {
  return {
    atMs,
    level,
    message,
    issueId: issueId ?? null,
    identifier: identifier ?? null,
    runId: runId ?? null,
    fields: fields ?? {},
  };
}
