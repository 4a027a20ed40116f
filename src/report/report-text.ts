import { cut, fold, oneLine, pad, widthOf } from './fit-text.js';
import type { Report } from './report.js';
import { headline, noteSentence, totalSentences } from './report-sentences.js';
import { type Cell, type Column, reportColumns } from './report-table.js';

const GAP = '  ';
const INDENT = ' '.repeat(6);
/** Names of states, labels and people are short; what is not must not push the numbers away. */
const MAX_NAME = 28;
const MIN_TITLE = 16;
const MAX_TITLE = 300;

/** For a terminal of that width; without one, as for a pipe, no line is broken. */
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
  const lines = paragraphs.map((some) => some.map((line) => fold(line, columns, INDENT)).join('\n'));
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
