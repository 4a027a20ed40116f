import { existsSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { PricingConfig } from '../domain/config.js';
import { toBatonError } from '../domain/errors.js';
import { buildReport } from '../report/build-report.js';
import { parseSince } from '../report/parse-since.js';
import { type Past, pastSince } from '../report/past-since.js';
import type { Report, ReportBy, ReportNote } from '../report/report.js';
import { reportJson } from '../report/report-json.js';
import { reportMarkdown, reportText } from '../report/report-text.js';
import { defaultStateDir } from '../state-dir.js';
import { withStoredCopy } from '../store/read-stored.js';
import { openSqliteStore } from '../store/sqlite-store.js';
import { localDay } from '../text/format-time.js';
import { workflowKey } from '../workflow/workflow-key.js';
import { type Io, printError, printJson, printProblem } from './io.js';
import { openWorkflow } from './open-workflow.js';

export interface ReportOptions {
  readonly workflowPath: string;
  readonly stateDir?: string | undefined;
  readonly since: string;
  readonly by: ReportBy;
  readonly form: 'text' | 'json' | 'md';
}

/** Prints what was done in the period. Reads a copy of the store and changes nothing. */
export async function report(options: ReportOptions, io: Io, nowMs: number): Promise<number> {
  const since = parseSince(options.since, nowMs);
  if ('problem' in since) return printProblem(`--since ${JSON.stringify(options.since)}: ${since.problem}`, 2, io);
  const found = await locateReport(options, io);
  if ('refusal' in found) return printProblem(found.refusal, 2, io);
  const { dir, pricing } = found;
  try {
    const past = await readPast(dir, since.sinceMs);
    const { runs, finished } = past ?? NOTHING;
    const { by } = options;
    const built = buildReport({ runs, finished, pricing, ...since, untilMs: nowMs, by, dayOf: localDay });
    const notes = [...emptyNotes(built, past, dir), ...(past?.notes ?? []), ...built.notes, ...found.notes];
    print({ ...built, notes }, options.form, dir, io);
    return 0;
  } catch (error) {
    return printError(error, 1, io);
  }
}

const NOTHING: Pick<Past, 'runs' | 'finished'> = { runs: [], finished: [] };

/** An empty report names the state directory and the time of the last run. */
function emptyNotes({ groups }: Report, past: Past | null, dir: string): ReportNote[] {
  if (groups.length > 0) return [];
  return past === null ? [{ kind: 'no_state', dir }] : [{ kind: 'nothing_found', dir, last: past.last }];
}

function print(report: Report, form: ReportOptions['form'], dir: string, io: Io): void {
  if (form === 'json') return printJson(reportJson(report, dir), io);
  io.stdout.write(form === 'md' ? reportMarkdown(report) : reportText(report, io.stdout.columns));
}

/** The state directory of a daemon, and the prices of tokens. */
interface ReportSource {
  readonly dir: string;
  readonly pricing: PricingConfig | null;
  readonly notes: readonly ReportNote[];
}

/** An invalid workflow only costs the prices. Returns a refusal when there is no state to report. */
async function locateReport(
  { workflowPath, stateDir }: { readonly workflowPath: string; readonly stateDir?: string | undefined },
  io: Io,
): Promise<ReportSource | { readonly refusal: string }> {
  const named = stateDir === undefined ? undefined : resolve(io.cwd, stateDir);
  if (named !== undefined && statSync(named, { throwIfNoEntry: false })?.isDirectory() !== true)
    return { refusal: `there is no state directory ${named}` };
  try {
    const { loaded, stateDir: dir } = await openWorkflow(workflowPath, stateDir, io);
    return { dir, pricing: loaded.workflow.config.pricing, notes: [] };
  } catch (error) {
    const { code, message } = toBatonError(error);
    const dir = named ?? defaultStateDir(await workflowKey(resolve(io.cwd, workflowPath)), io.env, io.homeDir);
    // Neither a workflow nor a state exists: the name is probably mistyped.
    if (named === undefined && !existsSync(join(dir, 'baton.db'))) return { refusal: `${code}: ${message}` };
    const [why = ''] = message.split('\n');
    return { dir, pricing: null, notes: [{ kind: 'no_prices', why: `${code}: ${why}` }] };
  }
}

/** Reads a copy, since a daemon may be running. Null when nothing is stored. Throws `store_failed`. */
async function readPast(dir: string, sinceMs: number): Promise<Past | null> {
  if (!existsSync(join(dir, 'baton.db'))) return null;
  return withStoredCopy(dir, async (copy) => {
    const store = openSqliteStore({ dir: copy, onWarning: () => {} });
    try {
      return await pastSince(store.past, sinceMs);
    } finally {
      await store.close();
    }
  });
}
