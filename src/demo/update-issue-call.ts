import { type Fields, fieldsOf, textOf } from '../domain/fields.js';

/** The one tool of the client that the demo agent knows. */
export const UPDATE_ISSUE = 'update_issue';

/** `Done` where there is such a state, else the last one that the tool names. */
export function doneState(tool: Fields): string {
  const { state } = fieldsOf(fieldsOf(tool.inputSchema).properties);
  const told = textOf(fieldsOf(state).description) ?? textOf(tool.description) ?? '';
  const [, list = ''] = /(?:One of|States): (.+?)\.(?:\s|$)/.exec(told) ?? [];
  const states = list.split(', ').filter((name) => name !== '');
  return states.find((name) => name.toLowerCase() === 'done') ?? states.at(-1) ?? 'Done';
}
