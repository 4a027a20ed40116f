import { assertNever } from '../domain/json.js';
import { counted, formatTokens } from '../text/format-numbers.js';
import { formatDuration, localDay, localTime } from '../text/format-time.js';
import { OUTCOME_TEXTS } from '../text/outcomes.js';
import { cut, oneLine } from '../text/terminal-text.js';
import type { Cost, Group, Report, ReportNote, RunState, Sums } from './report.js';

/** Few and short enough to keep the summary below 600 characters. */
const MAX_NAMES = 5;
const MAX_NAME = 20;
const MAX_CODES = 3;

/**
 * A report in one paragraph of plain text, for a notice. From a report by issue it names the issues that are done and handed over. The caller
 * escapes it for places with markup.
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
    formatDuration(timeMs),
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

/** Escapes and quotes text of others for the output format. */
type Quote = (text: string) => string;

export function headline({ period, groups }: Report): string {
  const { sinceMs, untilMs } = period;
  const when = `from ${localTime(sinceMs)} to ${localTime(untilMs)}`;
  return groups.length === 0 ? `Baton did nothing ${when}` : `What Baton did ${when}`;
}

/** The totals as sentences without full stops. `currency` must already be escaped. */
export function totalSentences({ issues, runs, failures, tokens, cost, timeMs }: Sums, currency: string): string[] {
  return [
    [
      `${counted(issues.workedOn, 'issue')} worked on`,
      ...some(issues.done, 'done'),
      ...some(issues.handedOver, 'handed over'),
    ].join(', '),
    `${counted(runs.all, 'run')}${outcomes(runs)}${runs.retries === 0 ? '' : `; ${runs.retries} after a failure`}`,
    ...(failures.length === 0 ? [] : [failureWords(failures)]),
    `${formatTokens(tokens.billable)} tokens: ${formatTokens(tokens.input)} input, ${formatTokens(tokens.cached)} of it cached, and ${formatTokens(tokens.output)} output`,
    ...(cost === null ? [] : [`cost: ${moneyOf(cost, currency)}`]),
    `time: ${formatDuration(timeMs)}`,
  ];
}

function outcomes(runs: Sums['runs']): string {
  const states = ['success', 'failed', 'timeout', 'cancelled', 'running'] as const satisfies RunState[];
  const parts = states.flatMap((state) => some(runs[state], RUN_WORDS[state]));
  return parts.length === 0 ? '' : `: ${parts.join(', ')}`;
}

function failureWords(failures: Sums['failures'], max = failures.length): string {
  const parts = failures.slice(0, max).map(({ code, runs }) => `${runs} ${code}`);
  return `failures: ${[...parts, ...(failures.length > max ? [`${failures.length - max} other codes`] : [])].join(', ')}`;
}

/** A note as one or two sentences. */
export function noteSentence(note: ReportNote, quote: Quote): string {
  switch (note.kind) {
    case 'overlap':
      return 'An issue with several labels counts under each of them, so that the lines add up to more than the totals.';
    case 'unpriced': {
      const names = note.models.map((model) => (model === null ? 'runs whose agent named no model' : quote(model)));
      return `The cost is incomplete: pricing.models has no price for ${names.join(', ')}.`;
    }
    case 'no_prices':
      return `There are no prices, because the workflow cannot be read: ${quote(note.why)}`;
    case 'newest_only':
      return `Only the newest ${note.runs} runs are counted: choose a shorter time with --since.`;
    case 'nothing_found':
      return note.last === null
        ? `No run is recorded in ${quote(note.dir)}.`
        : `The last run in ${quote(note.dir)} began ${localTime(note.last.startedAtMs)}, on ${quote(note.last.identifier)}: --since ${localDay(note.last.startedAtMs)} shows it.`;
    case 'no_state':
      return `There is no state in ${quote(note.dir)}: no daemon has worked there yet. Name the workflow that it was started with, or its --state-dir.`;
    default:
      return assertNever(note);
  }
}

function some(count: number, what: string): string[] {
  return count === 0 ? [] : [`${count} ${what}`];
}

/** The amount without the currency, or `?` without any price. */
export function amountOf({ amount, isPartial }: Cost): string {
  if (!isPartial) return amount > 0 && amount < 0.005 ? '<0.01' : amount.toFixed(2);
  return amount === 0 ? '?' : `≥ ${amount.toFixed(2)}`;
}

/** The cost within a sentence. */
export function moneyOf({ amount, isPartial }: Cost, currency: string): string {
  if (!isPartial) return `${amountOf({ amount, isPartial })} ${currency}`;
  return amount === 0 ? 'no price known' : `at least ${amount.toFixed(2)} ${currency}`;
}

export const RUN_WORDS: { readonly [state in RunState]: string } = {
  ...OUTCOME_TEXTS,
  cancelled: 'stopped',
  running: 'not ended yet',
};
