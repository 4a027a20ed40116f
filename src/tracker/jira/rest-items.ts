import { fieldsOf, listOf } from '../../domain/fields.js';
import { ToolRefusal } from '../raw-tool.js';
import type { JiraCalls } from './api.js';

/** One comment, worklog or link of an issue. */
export interface RestItem {
  /** As the agent wrote it. */
  readonly issue: string;
  readonly part: string;
  readonly id: string;
}

const LISTS: ReadonlyMap<string, { readonly query: string; itemsIn(body: unknown): unknown }> = new Map([
  ['comment', { query: '?orderBy=-created&maxResults=1000', itemsIn: (body) => fieldsOf(body).comments }],
  ['worklog', { query: '?maxResults=5000', itemsIn: (body) => fieldsOf(body).worklogs }],
  ['remotelink', { query: '', itemsIn: (body) => body }],
]);

/** Nobody promises that Jira looks at the issue beside the number of a comment: numbers of other projects would be in reach. */
export async function checkItem(calls: JiraCalls, { issue, part, id }: RestItem, issueId: string): Promise<void> {
  const list = LISTS.get(part);
  if (list === undefined) return;
  const { body } = await calls.get(`/issue/${issueId}/${part}${list.query}`);
  const ids = listOf(list.itemsIn(body)).map((item) => String(fieldsOf(item).id));
  if (!ids.includes(id)) throw new ToolRefusal(`Issue ${issue} has no ${part} ${id}.`);
}
