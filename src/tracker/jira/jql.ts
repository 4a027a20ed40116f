import { BatonError } from '../../domain/errors.js';

/** A text as JQL writes it: it ends at a quotation mark, and may not go on over the end of a line. */
export function quoted(text: string): string {
  const escaped = text.replace(/["\\]/g, '\\$&').replaceAll('\n', '\\n').replaceAll('\r', '\\r');
  return `"${escaped}"`;
}

/** All of them at once, oldest issue first. Each is complete in itself. */
export function allOf(clauses: readonly string[]): string {
  return `${clauses.join(' AND ')} ORDER BY created ASC`;
}

/**
 * `tracker.provider.jql` as one clause among others. What would not stay in its parentheses could widen what is looked at, and an order of its own
 * cannot stand inside of them: `invalid_tracker_config`.
 */
export function ownClause(jql: string): string {
  const bare = withoutTexts(jql);
  if (bare === null) throw wrong('has a quotation mark that is not closed');
  if (/\border\s+by\b/i.test(bare)) throw wrong('has an ORDER BY: take it out, Baton sorts the issues itself');
  let depth = 0;
  for (const character of bare) {
    if (character === '(') depth++;
    if (character === ')') depth--;
    if (depth < 0) break;
  }
  if (depth !== 0) throw wrong('has parentheses that do not fit together');
  return `(${jql})`;
}

/** Without what stands in quotation marks; `null` when one is not closed. */
function withoutTexts(jql: string): string | null {
  let bare = '';
  let open: string | null = null;
  for (let at = 0; at < jql.length; at++) {
    const character = jql.charAt(at);
    if (character === '\\') at++;
    else if (open !== null) open = character === open ? null : open;
    else if (character === '"' || character === "'") open = character;
    else bare += character;
  }
  return open === null ? bare : null;
}

function wrong(problem: string): BatonError {
  return new BatonError('invalid_tracker_config', `tracker.provider.jql ${problem}.`);
}
