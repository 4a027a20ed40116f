import { ERRORS } from '../domain/error-table.js';

/** As the label of a series: one of our own codes, `''` for none, `other` for whatever else an agent may have made up. */
export function codeLabel(code: string | null): string {
  if (code === null) return '';
  return Object.hasOwn(ERRORS, code) ? code : 'other';
}
