import { formatTokens } from '../text/format-tokens.js';
import { assertNever } from '../domain/json.js';
import { localDay, localTime } from '../text/local-time.js';
import type { Report, ReportNote, RunState, Sums } from './report.js';
import { counted, duration, moneyOf, RUN_WORDS } from './report-words.js';

/** Makes a text that others wrote harmless where it is shown, and sets it off from ours. */
export type Quote = (text: string) => string;

export function headline({ period, groups }: Report): string {
  const { sinceMs, untilMs } = period;
  const when = `from ${localTime(sinceMs)} to ${localTime(untilMs)}`;
  return groups.length === 0 ? `Baton did nothing ${when}` : `What Baton did ${when}`;
}

/** The totals, a sentence each, without full stops. `currency` as it may be shown. */
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
    `time: ${duration(timeMs)}`,
  ];
}

export function outcomes(runs: Sums['runs']): string {
  const states = ['success', 'failed', 'timeout', 'cancelled', 'running'] as const satisfies RunState[];
  const parts = states.flatMap((state) => some(runs[state], RUN_WORDS[state]));
  return parts.length === 0 ? '' : `: ${parts.join(', ')}`;
}

export function failureWords(failures: Sums['failures'], max = failures.length): string {
  const parts = failures.slice(0, max).map(({ code, runs }) => `${runs} ${code}`);
  return `failures: ${[...parts, ...(failures.length > max ? [`${failures.length - max} other codes`] : [])].join(', ')}`;
}

/** Whole sentences. */
export function noteSentence(note: ReportNote, quote: Quote): string {
  switch (note.kind) {
    case 'overlap':
      return 'An issue with several labels counts under each of them, so the lines add up to more than the totals.';
    case 'unpriced': {
      const names = note.models.map((model) => (model === null ? 'runs whose agent named no model' : quote(model)));
      return `The cost is not all: pricing.models has no price for ${names.join(', ')}.`;
    }
    case 'no_prices':
      return `Without prices, because the workflow cannot be read: ${quote(note.why)}`;
    case 'newest_only':
      return `Only the newest ${note.runs} runs are counted: ask for a shorter time with --since.`;
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
