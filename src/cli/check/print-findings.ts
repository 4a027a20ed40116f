import { neutralise } from '../../text/neutralise.js';
import { type Finding, GROUPS } from './finding.js';

export interface Summary {
  readonly errors: number;
  readonly warnings: number;
  /** Issues in active states, those that would start, and how many of them at a time; `null` where nobody could tell. */
  readonly active: number | null;
  readonly eligible: number | null;
  readonly at_a_time: number | null;
}

/** For people: by group, worst first within it, and one sentence at the end. */
export function textOf(findings: readonly Finding[], summary: Summary, paint: Paint): string {
  const blocks = GROUPS.flatMap((group) => {
    const own = findings
      .filter((finding) => finding.group === group)
      .sort((a, b) => rank(a) - rank(b) || byPlace(a, b));
    return own.length === 0
      ? []
      : [`${paint('bold', group)}\n${own.map((finding) => entryOf(finding, paint)).join('\n')}\n`];
  });
  return `${blocks.join('\n')}\n${verdict(summary)}\n`;
}

export type Paint = (style: 'bold' | 'red' | 'yellow' | 'green' | 'dim', text: string) => string;

const CODES = { bold: 1, red: 31, yellow: 33, green: 32, dim: 2 } as const;

export function painter(hasColours: boolean): Paint {
  return (style, text) => (hasColours ? `\u001b[${CODES[style]}m${text}\u001b[0m` : text);
}

function entryOf(finding: Finding, paint: Paint): string {
  const { file, line, column, message, advice } = finding;
  const place = line === null ? file : `${file}:${line}:${column ?? 1}`;
  const first = `  ${markOf(finding, paint)} ${neutralise(message)}  ${paint('dim', neutralise(place))}`;
  return advice === null ? first : `${first}\n      ${neutralise(advice)}`;
}

function markOf({ level, code, advice }: Finding, paint: Paint): string {
  if (level === 'error') return paint('red', '✗');
  // An issue that waits is neither good news nor a fault.
  if (code.startsWith('not_')) return paint('dim', '·');
  return level === 'warning' || advice !== null ? paint('yellow', '!') : paint('green', '✓');
}

function verdict({ errors, warnings, active, eligible, at_a_time: atATime }: Summary): string {
  const cautions = warnings === 0 ? '' : ` ${count(warnings, 'warning')} above.`;
  if (errors > 0) return `${count(errors, 'error')}: fix ${errors === 1 ? 'it' : 'them'} first.`;
  if (eligible === null || active === null) return `Ready.${cautions}`;
  if (eligible === 0) return `Ready, but no issue would start (${active} in active states).${cautions}`;
  const limit = atATime !== null && eligible > atATime ? `, ${atATime} at a time` : '';
  return `Ready: ${count(eligible, 'issue')} would start${limit}.${cautions}`;
}

function count(number: number, word: string): string {
  return `${number} ${word}${number === 1 ? '' : 's'}`;
}

function rank({ level, advice }: Finding): number {
  if (level === 'error') return 0;
  return level === 'warning' ? 1 : advice === null ? 3 : 2;
}

function byPlace(a: Finding, b: Finding): number {
  return (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0);
}
