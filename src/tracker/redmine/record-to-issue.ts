import { type Fields, fieldsOf, listOf, textOf } from '../../domain/fields.js';
import type { RawIssue } from '../normalise-issue.js';
import { authorOf } from '../trust.js';
import type { BlockersOf } from './blockers.js';
import { identifierOf, numberIn } from './issue-number.js';
import { type Judge, type Person, personIn } from './people.js';

export interface RecordContext {
  /** Where people look at it, without a slash at the end. */
  readonly site: string;
  /** Custom fields whose values are labels, in lower case; empty: all that take several values. */
  readonly labelFields: ReadonlySet<string>;
  readonly judge: Judge;
  /** Then whoever is not on it is told with the number to write there. */
  readonly isTrustAList: boolean;
  readonly blockersOf: BlockersOf;
  /** Why an issue of this assignee is left alone; `null`: it is not. */
  heldBack(assignee: Person): string | null;
}

/** An issue as Redmine tells it, in our words. What is wrong with it comes out when it is normalised. */
export function recordToIssue(record: Fields, context: RecordContext): RawIssue {
  const number = numberIn(record.id);
  const author = personIn(record.author);
  const assignee = personIn(record.assigned_to);
  const heldBack = context.heldBack(assignee);
  return {
    id: number,
    identifier: number === null ? null : identifierOf(number),
    title: record.subject,
    description: record.description,
    priority: PRIORITIES.get(textOf(fieldsOf(record.priority).name)?.toLowerCase() ?? '') ?? null,
    state: fieldsOf(record.status).name,
    url: number === null ? null : `${context.site}/issues/${number}`,
    assignee_id: assignee.id,
    // Judged already: Redmine's people are known by number, not by the name that is shown.
    author: authorIn(author, context),
    labels: labelsOf(record, context.labelFields),
    blocked_by: context.blockersOf(record),
    dispatchable: heldBack === null,
    held_back: heldBack,
    native_ref: number === null ? null : `#${number}`,
    created_at: record.created_on,
    updated_at: record.updated_on,
  };
}

/** The name that is shown is no good for a list of trusted people: everybody can change their own. */
function authorIn(author: Person, { judge, isTrustAList }: RecordContext): ReturnType<typeof authorOf> {
  const isMember = judge(author);
  const login = isTrustAList && !isMember && author.id !== null ? `${author.name} (user ${author.id})` : author.name;
  return authorOf({ login, isMember }, 'members');
}

/** Redmine's own names; it tells no order that would say as much for others. */
const PRIORITIES: ReadonlyMap<string, number> = new Map([
  ['immediate', 1],
  ['urgent', 1],
  ['high', 2],
  ['normal', 3],
  ['low', 4],
]);

/** Redmine has no labels: what it sorts issues by stands in for them. It does not say which custom fields are lists. */
function labelsOf(record: Fields, named: ReadonlySet<string>): readonly unknown[] {
  const labels: unknown[] = [fieldsOf(record.tracker).name, fieldsOf(record.category).name];
  for (const field of listOf(record.custom_fields)) {
    const { name, multiple, value } = fieldsOf(field);
    const isChosen = named.size === 0 ? multiple === true : named.has(textOf(name)?.trim().toLowerCase() ?? '');
    if (isChosen && Array.isArray(value)) labels.push(...value);
    else if (isChosen) labels.push(value);
  }
  return labels;
}
