import { formatTokens } from '../text/format-tokens.js';
import { cut, oneLine } from './fit-text.js';
import { localTime } from '../text/local-time.js';
import type { Group, Report } from './report.js';
import { failureWords, outcomes } from './report-sentences.js';
import { counted, duration, moneyOf } from './report-words.js';

/** So few and so short that all of it stays below 600 characters. */
const MAX_NAMES = 5;
const MAX_NAME = 20;
const MAX_CODES = 3;

/**
 * A report in one paragraph of plain text, for a notice. Made of a report by issue it names what is done and what was handed over.
 * Whoever sends it to a place with a markup of its own escapes it for that place.
 */
export function reportSummary(report: Report): string {
  const { period, totals, currency, groups } = report;
  const since = `Since ${localTime(period.sinceMs)}`;
  if (groups.length === 0) return `${since}: nothing was done.`;
  const { issues, runs, failures, tokens, cost, timeMs } = totals;
  const left = (isDone: boolean) =>
    named(groups.filter(({ issue }) => issue?.state != null && issue.isDone === isDone));
  const work = [
    `${counted(issues.workedOn, 'issue')} worked on`,
    ...(issues.done === 0 ? [] : [`${issues.done} done${left(true)}`]),
    ...(issues.handedOver === 0 ? [] : [`${issues.handedOver} handed over${left(false)}`]),
  ];
  const spent = [
    `${formatTokens(tokens.billable)} tokens`,
    ...(cost === null ? [] : [moneyOf(cost, cut(oneLine(currency ?? ''), MAX_NAME))]),
    duration(timeMs),
  ];
  const sentences = [
    `${since}: ${work.join(', ')}.`,
    `${counted(runs.all, 'run')}${outcomes(runs)}${failures.length === 0 ? '' : `; ${failureWords(failures, MAX_CODES)}`}.`,
    `${spent.join(', ')}.`,
  ];
  return sentences.join(' ');
}

function named(groups: readonly Group[]): string {
  if (groups.length === 0) return '';
  const names = groups.slice(0, MAX_NAMES).map(({ name }) => cut(oneLine(name ?? ''), MAX_NAME));
  const others = groups.length - names.length;
  return ` (${[...names, ...(others === 0 ? [] : [`${others} more`])].join(', ')})`;
}
