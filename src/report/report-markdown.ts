import { cut, oneLine } from './fit-text.js';
import type { Report } from './report.js';
import { headline, noteSentence, totalSentences } from './report-sentences.js';
import { type Cell, type Column, reportColumns } from './report-table.js';

/** Nobody reads on, and a report is no place to fill. */
const MAX_FOREIGN = 300;

/** For an issue, a wiki or a mail. Whatever others wrote stands in code spans, where nothing is a link, a mention or HTML. */
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

/** A fence longer than any within; a space keeps it apart from what begins or ends with one. */
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
 * Tables know `\|`, in code too. A backslash right before a pipe is part of such an escape for some readers and escaped itself for
 * others: a space parts them.
 */
function pipesEscaped(cell: string): string {
  return cell.replaceAll('\\|', '\\ |').replaceAll('|', '\\|');
}
