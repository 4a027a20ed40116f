import type { RuleView } from './shapes/issue-shape.js';

export function passed(rule: string): RuleView {
  return { rule, pass: true, why: null, action: null };
}

/** `why` and `action`: sentences without their beginning and their full stop. */
export function failed(rule: string, why: string, action: string): RuleView {
  return { rule, pass: false, why, action };
}
