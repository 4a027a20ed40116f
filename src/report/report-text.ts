import { formatTokens } from '../text/format-numbers.js';
import { formatDuration } from '../text/format-time.js';
import { cut, oneLine, pad, widthOf, wrapIndented } from '../text/terminal-text.js';
import type { Group, Report, ReportBy, ReportedIssue, ReportedRun } from './report.js';
import { amountOf, headline, noteSentence, RUN_WORDS, totalSentences } from './report-sentences.js';

const GAP = '  ';
const INDENT = ' '.repeat(6);
/** Longer names are cut, so that the numbers stay visible. */
const MAX_NAME = 28;
const MIN_TITLE = 16;
const MAX_TITLE = 300;

/** A report for a terminal of that width. Without a width, as for a pipe, no line is wrapped. */
export function reportText(report: Report, columns: number | undefined): string {
  const isEmpty = report.groups.length === 0;
  const totals = isEmpty ? [] : totalSentences(report.totals, oneLine(report.currency ?? ''));
  const notes = report.notes.map((note) => noteSentence(note, quoted));
  const paragraphs = [
    [`${headline(report)}.`],
    totals.map((text) => `  ${text}`),
    isEmpty ? [] : tableRows(reportColumns(report), columns),
    notes,
  ].filter((lines) => lines.length > 0);
  const lines = paragraphs.map((some) => some.map((line) => wrapIndented(line, columns, INDENT)).join('\n'));
  return `${lines.join('\n\n')}\n`;
}

/** The last column ends where the terminal does. */
function tableRows(table: readonly Column[], columns: number | undefined): string[] {
  const shown = table.map(({ head, align, cells }, index) => ({
    align,
    texts: [head, ...cells].map((cell) => shownCell(cell, index === table.length - 1)),
  }));
  const widths = shown.map(({ texts }) => texts.reduce((widest, text) => Math.max(widest, widthOf(text)), 0));
  const before = widths.slice(0, -1).reduce((sum, width) => sum + width + GAP.length, 0);
  const last = columns === undefined ? MAX_TITLE : Math.max(MIN_TITLE, columns - before);
  return Array.from({ length: shown[0]?.texts.length ?? 0 }, (_, row) =>
    shown
      .map(({ align, texts }, index) => {
        const text = texts[row] ?? '';
        const width = widths[index] ?? 0;
        return index < shown.length - 1 || align === 'right' ? pad(text, width, align) : cut(text, last);
      })
      .join(GAP)
      .trimEnd(),
  );
}

function shownCell({ text, isForeign }: Cell, isLast: boolean): string {
  if (!isForeign) return text;
  const line = oneLine(text);
  return isLast ? line : cut(line, MAX_NAME);
}

function quoted(text: string): string {
  return `"${oneLine(text)}"`;
}

/** Longer texts of others are cut. */
const MAX_FOREIGN = 300;

/** A report for an issue, a wiki or a mail. Text of others stands in code spans, where nothing is a link, a mention or HTML. */
export function reportMarkdown(report: Report): string {
  const isEmpty = report.groups.length === 0;
  const currency = wordOrCode(report.currency ?? '');
  const totals = isEmpty ? [] : totalSentences(report.totals, currency).map((text) => `- ${text}`);
  const table = isEmpty ? [] : tableLines(reportColumns(report));
  const notes = report.notes.map((note) => `> ${noteSentence(note, codeSpan)}`);
  const paragraphs = [[`## ${headline(report)}`], totals, table, ...notes.map((note) => [note])];
  return `${paragraphs
    .filter((lines) => lines.length > 0)
    .map((lines) => lines.join('\n'))
    .join('\n\n')}\n`;
}

/** The fence is longer than any run of backticks inside. A space separates it from a text that begins or ends with one. */
function codeSpan(text: string): string {
  const line = cut(oneLine(text), MAX_FOREIGN);
  if (line === '') return '';
  const fences = Array.from(line.matchAll(/`+/g), ([run]) => run);
  const fence = `${fences.reduce((longest, run) => (run.length > longest.length ? run : longest), '')}\``;
  const space = line.startsWith('`') || line.endsWith('`') ? ' ' : '';
  return `${fence}${space}${line}${space}${fence}`;
}

/** `USD` needs no fence. */
function wordOrCode(text: string): string {
  return /^(?:\p{L}{1,5}|\p{Sc})$/u.test(text) ? text : codeSpan(text);
}

function tableLines(columns: readonly Column[]): string[] {
  const rows = columns[0]?.cells.length ?? 0;
  const rowOf = (cells: readonly string[]) => `| ${cells.map(pipesEscaped).join(' | ')} |`;
  const shown = ({ text, isForeign }: Cell = { text: '', isForeign: false }) => (isForeign ? codeSpan(text) : text);
  return [
    rowOf(columns.map(({ head }) => (head.isForeign ? wordOrCode(head.text) : head.text))),
    rowOf(columns.map(({ align }) => (align === 'right' ? '--:' : '---'))),
    ...Array.from({ length: rows }, (_, row) => rowOf(columns.map(({ cells }) => shown(cells[row])))),
  ];
}

/**
 * Escapes pipes, which tables need in code too. Renderers disagree about a backslash right before a pipe, so that a space separates
 * them.
 */
function pipesEscaped(cell: string): string {
  return cell.replaceAll('\\|', '\\ |').replaceAll('|', '\\|');
}

/** One column of the table, for terminals and Markdown. */
interface Column {
  readonly head: Cell;
  readonly align: 'left' | 'right';
  readonly cells: readonly Cell[];
}

interface Cell {
  readonly text: string;
  /** Written by others, so that it may hold anything. */
  readonly isForeign: boolean;
}

/** The title comes last, as it takes the remaining width. */
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
    number('time', ({ timeMs, runs }) => (runs.all === runs.running ? '–' : formatDuration(timeMs))),
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
  return run.afterRunFailed ? `${endOf(run)}, after_run failed` : endOf(run);
}

function endOf(run: ReportedRun): string {
  if (run.outcome === 'cancelled') return run.code === 'INTERRUPTED' ? 'interrupted' : RUN_WORDS.cancelled;
  return run.outcome !== 'success' && run.code !== null ? run.code : RUN_WORDS[run.outcome];
}

function ours(text: string): Cell {
  return { text, isForeign: false };
}

function theirs(text: string): Cell {
  return { text, isForeign: true };
}
