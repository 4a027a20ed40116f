import { toBatonError } from '../domain/errors.js';
import { neutraliseJson, neutraliseLines } from '../text/neutralise.js';
import { buildReport } from '../report/build-report.js';
import { localDay } from '../text/local-time.js';
import { parseSince } from '../report/parse-since.js';
import type { Past } from '../report/past-since.js';
import type { Report, ReportBy, ReportNote } from '../report/report.js';
import { reportJson } from '../report/report-json.js';
import { reportMarkdown } from '../report/report-markdown.js';
import { reportText } from '../report/report-text.js';
import type { Io } from './io.js';
import { findState } from './report/find-state.js';
import { readPast } from './report/read-past.js';

export interface ReportOptions {
  readonly workflowPath: string;
  readonly stateDir?: string | undefined;
  readonly since: string;
  readonly by: ReportBy;
  readonly form: 'text' | 'json' | 'md';
}

/** Prints what was done since then. Reads a copy of what is stored, and changes nothing. */
export async function report(options: ReportOptions, io: Io, nowMs: number): Promise<number> {
  const since = parseSince(options.since, nowMs);
  if ('problem' in since) return complain(`--since ${JSON.stringify(options.since)}: ${since.problem}`, 2, io);
  const found = await findState(options, io);
  if ('refusal' in found) return complain(found.refusal, 2, io);
  const { dir, pricing } = found;
  try {
    const past = await readPast(dir, since.sinceMs);
    const { runs, finished } = past ?? NOTHING;
    const { by } = options;
    const built = buildReport({ runs, finished, pricing, ...since, untilMs: nowMs, by, dayOf: localDay });
    const notes = [...emptyNotes(built, past, dir), ...(past?.notes ?? []), ...built.notes, ...found.notes];
    io.stdout.write(shown({ ...built, notes }, options.form, dir, io));
    return 0;
  } catch (error) {
    const { code, message } = toBatonError(error);
    return complain(`${code}: ${message}`, 1, io);
  }
}

const NOTHING: Pick<Past, 'runs' | 'finished'> = { runs: [], finished: [] };

/** Whoever finds nothing wants to know where was looked, and where else to look. */
function emptyNotes({ groups }: Report, past: Past | null, dir: string): ReportNote[] {
  if (groups.length > 0) return [];
  return past === null ? [{ kind: 'no_state', dir }] : [{ kind: 'nothing_found', dir, last: past.last }];
}

function shown(report: Report, form: ReportOptions['form'], dir: string, io: Io): string {
  if (form === 'md') return reportMarkdown(report);
  if (form === 'text') return reportText(report, io.stdout.columns);
  // Line by line: the line breaks between values are ours.
  const lines = JSON.stringify(reportJson(report, dir), null, 2).split('\n');
  return `${lines.map(neutraliseJson).join('\n')}\n`;
}

function complain(text: string, exitCode: 1 | 2, io: Io): number {
  io.stderr.write(`baton: ${neutraliseLines(text)}\n`);
  return exitCode;
}
