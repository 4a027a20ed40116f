import type { RuleView } from '../../status/shapes/issue-shape.js';
import { oneLine, pad, wrap } from '../../text/terminal-text.js';
import type { Paint } from '../status/paint.js';
import { localTimes } from '../../text/format-duration.js';
import { RULE_WORDS } from './rule-words.js';

export interface RulesFrame {
  readonly nowMs: number;
  readonly width: number;
  readonly paint: Paint;
}

const MAX_LINES = 20;

/** Every rule in a line, those that fail first, with what to do about it; what helps against two is said once. */
export function renderRules(rules: readonly RuleView[], frame: RulesFrame): string {
  const column = Math.max(...rules.map(({ rule }) => rule.length));
  const failed = rules.filter(({ pass }) => !pass);
  const isSaid = ({ action }: RuleView, at: number) => failed.findIndex((one) => one.action === action) < at;
  const failing = failed.flatMap((rule, at) =>
    failingLines(isSaid(rule, at) ? { ...rule, action: null } : rule, column, frame),
  );
  const passing = rules
    .filter(({ pass }) => pass)
    .map(({ rule }) => `${frame.paint.green('✓')} ${pad(oneLine(rule), column)}  ${frame.paint.dim(wordsOf(rule))}`);
  return [...failing, ...(failing.length > 0 && passing.length > 0 ? [''] : []), ...passing].join('\n');
}

function failingLines({ rule, why, action }: RuleView, column: number, { nowMs, width, paint }: RulesFrame): string[] {
  const indent = ' '.repeat(column + 4);
  const fit = (text: string, columns: number) =>
    wrap(oneLine(localTimes(text, nowMs)), Math.max(30, columns), MAX_LINES);
  const [first = '', ...rest] = fit(why ?? '', width - indent.length);
  const [todo, ...more] = action === null ? [] : fit(action, width - indent.length - 2);
  return [
    `${paint.red('✗')} ${paint.bold(pad(oneLine(rule), column))}  ${first}`,
    ...rest.map((line) => `${indent}${line}`),
    ...(todo === undefined ? [] : [`${indent}${paint.cyan('→')} ${todo}`]),
    ...more.map((line) => `${indent}  ${line}`),
  ];
}

function wordsOf(rule: string): string {
  return Object.hasOwn(RULE_WORDS, rule) ? (RULE_WORDS[rule] ?? '') : '';
}
