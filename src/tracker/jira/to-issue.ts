import type { Trust } from '../../domain/config.js';
import { type Fields, fieldsOf, listOf, textOf } from '../../domain/fields.js';
import { stateKey } from '../../domain/issue.js';
import type { RawIssue } from '../normalise-issue.js';
import { adfToMarkdown } from './adf-to-markdown.js';
import { authorIn, heldBackFrom, personOf, type WantedAssignee } from './people.js';

/** What is asked for of each issue. */
export const FIELDS = [
  ...['summary', 'description', 'status', 'priority', 'labels', 'issuelinks', 'project'],
  ...['assignee', 'creator', 'created', 'updated'],
];

export interface IssueContext {
  readonly trust: Trust;
  readonly assignee: WantedAssignee | null;
  /** Where people look at issues; `null`: not known. */
  readonly site: string | null;
}

/** One record of Jira, unchecked: `normaliseIssue` says whether it is an issue. */
export function toIssue(record: unknown, { trust, assignee: wanted, site }: IssueContext): RawIssue {
  const { id, key, fields: all } = fieldsOf(record);
  const fields = fieldsOf(all);
  const assignee = personOf(fields.assignee);
  const heldBack = wanted === null ? null : heldBackFrom(wanted, assignee);
  const identifier = textOf(key);
  return {
    id,
    identifier,
    title: fields.summary,
    description: adfToMarkdown(fields.description),
    priority: priorityNamed(fieldsOf(fields.priority).name),
    state: fieldsOf(fields.status).name,
    url: site !== null && /^\w+-\d+$/.test(identifier ?? '') ? `${site}/browse/${identifier}` : null,
    assignee_id: assignee?.accountId,
    author: authorIn(personOf(fields.creator), trust),
    labels: fields.labels,
    blocked_by: listOf(fields.issuelinks).flatMap(blockerIn),
    dispatchable: heldBack === null,
    held_back: heldBack,
    created_at: fields.created,
    updated_at: fields.updated,
  };
}

/** The number of the project that a record belongs to. */
export function projectIdOf(record: unknown): string | null {
  return textOf(fieldsOf(fieldsOf(fieldsOf(record).fields).project).id);
}

const PRIORITIES: ReadonlyMap<string, number> = new Map([
  ...['highest', 'critical', 'blocker', 'urgent'].map((name) => [name, 1] as const),
  ...['high', 'major'].map((name) => [name, 2] as const),
  ...['medium', 'normal'].map((name) => [name, 3] as const),
  ...['low', 'lowest', 'minor', 'trivial'].map((name) => [name, 4] as const),
]);

function priorityNamed(name: unknown): number | null {
  return PRIORITIES.get(stateKey(textOf(name) ?? '')) ?? null;
}

const BLOCKED = 'is blocked by';

/** A link is told from the side of the issue that it is read with: the other one is at its inward or at its outward end. */
function blockerIn(link: unknown): Fields[] {
  const { type, inwardIssue, outwardIssue } = fieldsOf(link);
  const { name, inward, outward } = fieldsOf(type);
  const says = (text: unknown, wanted: string) => stateKey(textOf(text) ?? '') === wanted;
  const isReversed = !says(inward, BLOCKED) && says(outward, BLOCKED);
  const isBlock = isReversed || says(inward, BLOCKED) || says(name, 'blocks');
  const blocker = isBlock ? (isReversed ? outwardIssue : inwardIssue) : undefined;
  const { id, key, fields } = fieldsOf(blocker);
  return blocker === undefined ? [] : [{ id, identifier: key, state: fieldsOf(fieldsOf(fields).status).name }];
}
