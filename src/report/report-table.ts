import { formatTokens } from '../text/format-tokens.js';
import type { Group, Report, ReportBy, ReportedIssue } from './report.js';
import { amountOf, duration, RUN_WORDS } from './report-words.js';

/** The breakdown as columns, for terminals and Markdown alike. */
export interface Column {
  readonly head: Cell;
  readonly align: 'left' | 'right';
  readonly cells: readonly Cell[];
}

export interface Cell {
  readonly text: string;
  /** By others: it may hold anything. */
  readonly isForeign: boolean;
}

/** What takes as much room as it gets stands last. */
export function reportColumns({ by, currency, groups }: Report): Column[] {
  const column = (head: Cell | string, align: Column['align'], cellOf: (group: Group) => Cell): Column => ({
    head: typeof head === 'string' ? ours(head) : head,
    align,
    cells: groups.map(cellOf),
  });
  const number = (head: Cell | string, textOf: (group: Group) => string) =>
    column(head, 'right', (group) => ours(textOf(group)));
  const cost = [
    number('tokens', ({ tokens }) => formatTokens(tokens.billable)),
    ...(currency === null
      ? []
      : [number(theirs(currency), (group) => (group.cost === null ? '' : amountOf(group.cost)))]),
    number('time', ({ timeMs, runs }) => (runs.all === runs.running ? '–' : duration(timeMs))),
  ];
  const name = column(by, 'left', ({ name: own }) =>
    own === null || by === 'day' ? ours(own ?? NAMELESS[by]) : theirs(own),
  );
  const runs = number('runs', (group) => String(group.runs.all));
  if (by === 'issue')
    return [
      name,
      column('went to', 'left', ({ issue }) => (issue?.state == null ? ours('–') : theirs(issue.state))),
      runs,
      column('last run', 'left', ({ issue }) => ours(lastRun(issue))),
      ...cost,
      column('title', 'left', ({ issue }) => theirs(issue?.title ?? '')),
    ];
  return [
    name,
    number('issues', ({ issues }) => String(issues.workedOn)),
    number('done', ({ issues }) => String(issues.done)),
    number('handed over', ({ issues }) => String(issues.handedOver)),
    runs,
    number('failed', ({ runs: { failed, timeout } }) => String(failed + timeout)),
    ...cost,
  ];
}

const NAMELESS: { readonly [by in ReportBy]: string } = {
  issue: '–',
  label: '(no label)',
  author: '(not known)',
  day: '–',
};

function lastRun(issue: ReportedIssue | null): string {
  const run = issue?.runs.at(-1);
  if (run === undefined) return 'earlier';
  if (run.outcome === 'cancelled') return run.code === 'INTERRUPTED' ? 'interrupted' : RUN_WORDS.cancelled;
  return run.outcome !== 'success' && run.code !== null ? run.code : RUN_WORDS[run.outcome];
}

function ours(text: string): Cell {
  return { text, isForeign: false };
}

function theirs(text: string): Cell {
  return { text, isForeign: true };
}
