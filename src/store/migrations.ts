/**
 * The steps that make the schema. The version of a file (`PRAGMA user_version`) is the number of steps that ran on it. A released step
 * is never edited: add another.
 *
 * The columns besides `json` are generated from it, for queries and for users of `sqlite3`, so that they cannot disagree. Times are
 * milliseconds since 1970, UTC.
 */
export const MIGRATIONS: readonly string[] = [
  `
  CREATE TABLE claims (
    issue_id TEXT PRIMARY KEY NOT NULL,
    json TEXT NOT NULL,
    identifier TEXT AS (${extract('$.issue.identifier')}),
    kind TEXT AS (${extract('$.status.kind')}),
    reason TEXT AS (coalesce(${extract('$.status.reason')}, ${extract('$.status.run.reason')})),
    due_at_ms NUMERIC AS (${extract('$.status.dueAtMs')}),
    run_id TEXT AS (${extract('$.status.run.runId')}),
    thread_id TEXT AS (coalesce(
      ${extract('$.status.run.threadId')}, ${extract('$.status.threadId')}, ${extract('$.status.resume.threadId')}
    )),
    failures NUMERIC AS (${extract('$.failures')})
  ) WITHOUT ROWID;

  CREATE TABLE records (
    issue_id TEXT PRIMARY KEY NOT NULL,
    json TEXT NOT NULL,
    runs NUMERIC AS (${extract('$.runs')}),
    tokens NUMERIC AS (${extract('$.tokens')})
  ) WITHOUT ROWID;

  CREATE TABLE holds (
    source TEXT PRIMARY KEY NOT NULL,
    json TEXT NOT NULL,
    code TEXT AS (${extract('$.code')}),
    since_ms NUMERIC AS (${extract('$.sinceMs')}),
    until_ms NUMERIC AS (${extract('$.untilMs')})
  ) WITHOUT ROWID;

  CREATE TABLE meta (
    name TEXT PRIMARY KEY NOT NULL,
    json TEXT NOT NULL
  ) WITHOUT ROWID;

  CREATE TABLE owners (
    workspace_key TEXT PRIMARY KEY NOT NULL,
    json TEXT NOT NULL,
    scope TEXT AS (${extract('$.scope')}),
    issue_id TEXT AS (${extract('$.issueId')}),
    identifier TEXT AS (${extract('$.identifier')})
  ) WITHOUT ROWID;

  CREATE TABLE unreadable (
    id INTEGER PRIMARY KEY,
    from_table TEXT NOT NULL,
    row_key TEXT NOT NULL,
    json TEXT NOT NULL,
    why TEXT NOT NULL,
    set_aside_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ'))
  );
  `,
  `
  CREATE TABLE open_runs (
    marker TEXT PRIMARY KEY NOT NULL,
    json TEXT NOT NULL,
    issue_id TEXT AS (${extract('$.issueId')}),
    owes_after_run_in TEXT AS (${extract('$.owesAfterRunIn')})
  ) WITHOUT ROWID;

  CREATE TABLE runs (
    run_id TEXT PRIMARY KEY NOT NULL,
    json TEXT NOT NULL,
    issue_id TEXT AS (${extract('$.issueId')}),
    identifier TEXT AS (${extract('$.identifier')}),
    number NUMERIC AS (${extract('$.number')}),
    cause TEXT AS (${extract('$.cause')}),
    started_at_ms NUMERIC AS (${extract('$.startedAtMs')}),
    ended_at_ms NUMERIC AS (${extract('$.end.atMs')}),
    outcome TEXT AS (${extract('$.end.outcome')}),
    code TEXT AS (${extract('$.end.code')}),
    model TEXT AS (${extract('$.model')})
  ) WITHOUT ROWID;
  CREATE INDEX runs_by_start ON runs (started_at_ms);
  CREATE INDEX runs_by_issue ON runs (issue_id, number);

  CREATE TABLE spending (
    day TEXT NOT NULL,
    issue_id TEXT NOT NULL,
    input INTEGER NOT NULL,
    cached INTEGER NOT NULL,
    output INTEGER NOT NULL,
    tokens INTEGER NOT NULL,
    PRIMARY KEY (day, issue_id)
  ) WITHOUT ROWID;

  CREATE TABLE events (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    at_ms INTEGER NOT NULL,
    level TEXT NOT NULL,
    message TEXT NOT NULL,
    issue_id TEXT,
    identifier TEXT,
    run_id TEXT,
    fields TEXT NOT NULL
  );

  UPDATE claims SET json = json_set(json, '$.status.run.questions', json('[]'), '$.status.run.account', json('{
    "cause": "poll", "daemonVersion": "", "workflowHash": "", "issueHash": null, "promptHash": null,
    "agentVersion": null, "model": null, "turns": 0, "tokens": { "input": 0, "cached": 0, "output": 0 }
  }'))
  WHERE json_valid(json) AND json_type(json, '$.status.run') = 'object';

  UPDATE claims SET json = json_set(json, '$.status.cause', CASE json_extract(json, '$.status.reason')
    WHEN 'answer' THEN 'answer' WHEN 'retry' THEN 'retry' WHEN 'resumed' THEN 'retry' ELSE 'poll' END)
  WHERE json_valid(json) AND json_extract(json, '$.status.kind') = 'waiting';

  -- Until now there was only the sum of the current day: it stays under no issue.
  INSERT INTO spending SELECT json_extract(json, '$.ledger.day'), '', 0, 0, 0, json_extract(json, '$.ledger.tokens')
  FROM meta WHERE json_valid(json) AND json_extract(json, '$.ledger.tokens') > 0;
  UPDATE meta SET json = json_remove(json, '$.ledger') WHERE json_valid(json);
  `,
  `
  UPDATE claims SET json = json_set(json, '$.status.run.answered', NULL, '$.status.run.wish', NULL)
  WHERE json_valid(json) AND json_type(json, '$.status.run') = 'object';

  CREATE TABLE finished (
    finished_key TEXT PRIMARY KEY NOT NULL,
    json TEXT NOT NULL,
    issue_id TEXT AS (${extract('$.issueId')}),
    identifier TEXT AS (${extract('$.identifier')}),
    state TEXT AS (${extract('$.state')}),
    at_ms NUMERIC AS (${extract('$.atMs')})
  ) WITHOUT ROWID;
  CREATE INDEX finished_by_time ON finished (at_ms);
  CREATE INDEX runs_by_identifier ON runs (identifier, number);
  CREATE INDEX runs_by_end ON runs (ended_at_ms, outcome);
  CREATE INDEX events_by_issue ON events (identifier, id);
  `,
  `
  CREATE TABLE allowed (
    path TEXT PRIMARY KEY NOT NULL,
    json TEXT NOT NULL,
    hash TEXT AS (${extract('$.hash')}),
    at_ms NUMERIC AS (${extract('$.atMs')})
  ) WITHOUT ROWID;
  `,
];

/** NULL for a text that is no JSON, so that a damaged row breaks neither `SELECT *` nor the check of the file. */
function extract(path: string): string {
  return `json_extract(CASE WHEN json_valid(json) THEN json END, '${path}')`;
}
