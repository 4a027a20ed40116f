import { type Fields, fieldsOf, textOf } from '../domain/fields.js';

/** The one tool of the client that the demo agent knows. */
export const UPDATE_ISSUE = 'update_issue';

/** What trackers call work that is finished, the best name first. */
const FINISHED = ['done', 'resolved', 'closed'];

/** What to call the tool with when the work is finished, as far as it takes that. */
export function finishing(tool: Fields, comment: string): { readonly state?: string; readonly comment?: string } {
  const { properties } = fieldsOf(tool.inputSchema);
  const takes = (name: string) => Object.hasOwn(fieldsOf(properties), name);
  return { ...(takes('state') ? { state: doneState(tool) } : {}), ...(takes('comment') ? { comment } : {}) };
}

/** The state that says so where there is one, else the last one that the tool names. */
function doneState(tool: Fields): string {
  const { state } = fieldsOf(fieldsOf(tool.inputSchema).properties);
  const told = textOf(fieldsOf(state).description) ?? textOf(tool.description) ?? '';
  const [, list = ''] = /(?:One of|States): (.+?)\.(?:\s|$)/.exec(told) ?? [];
  const states = list.split(', ').filter((name) => name !== '');
  const named = FINISHED.flatMap((finished) => states.filter((name) => name.toLowerCase() === finished));
  return named[0] ?? states.at(-1) ?? 'Done';
}
