import type { Trust } from '../../domain/config.js';
import { type Fields, fieldsOf, foundIn, textOf } from '../../domain/fields.js';
import type { RawIssue } from '../normalise-issue.js';
import { assignedElsewhere, linearAuthor, writerOf } from './linear-people.js';
import { PAGE } from './queries.js';

export interface Reader {
  readonly trust: Trust;
  /** Who an issue must be assigned to, and what to call them; `null`: anybody. */
  readonly assignee: { readonly wanted: string; readonly shownAs: string } | null;
}

/** An issue as `ISSUES_QUERY` brings it. */
export function nodeToIssue(node: Fields, { trust, assignee }: Reader): RawIssue {
  const heldBack =
    unreadable(node) ?? (assignee && assignedElsewhere(node.assignee, assignee.wanted, assignee.shownAs));
  const writer = writerOf({
    user: node.creator,
    external: node.externalUserCreator ?? node.asksExternalUserRequester,
    bot: node.botActor,
  });
  return {
    id: node.id,
    identifier: node.identifier,
    title: node.title,
    description: node.description,
    // 0 is how Linear writes "none".
    priority: node.priority === 0 ? null : node.priority,
    state: fieldsOf(node.state).name,
    branch_name: node.branchName,
    url: node.url,
    assignee_id: fieldsOf(node.assignee).id,
    author: linearAuthor(writer, trust),
    labels: foundIn(fieldsOf(node.labels).nodes, (label) => textOf(fieldsOf(label).name)),
    blocked_by: foundIn(fieldsOf(node.inverseRelations).nodes, (relation) => blocker(fieldsOf(relation))),
    dispatchable: heldBack === null,
    held_back: heldBack,
    created_at: node.createdAt,
    updated_at: node.updatedAt,
  };
}

/** In the archive or the trash: nobody sees it on the board any more. */
export function isPutAway({ archivedAt, trashed }: Fields): boolean {
  return textOf(archivedAt) !== null || trashed === true;
}

/** It has more labels or relations than were asked for. */
export function isCutOff(node: Fields): boolean {
  return hasMore(node.labels) || hasMore(node.inverseRelations);
}

function hasMore(connection: unknown): boolean {
  return fieldsOf(fieldsOf(connection).pageInfo).hasNextPage === true;
}

/** What might be blocked, or lack a label, for all we can see. */
function unreadable(node: Fields): string | null {
  if (isCutOff(node)) return `has more than ${PAGE.deep} labels or relations, of which the rest cannot be read`;
  const isThere = Array.isArray(fieldsOf(node.labels).nodes) && Array.isArray(fieldsOf(node.inverseRelations).nodes);
  return isThere ? null : 'came from Linear without its labels or relations';
}

/** `inverseRelations` are those in which the other issue comes first: it blocks this one. */
function blocker({ type, issue }: Fields): Fields | null {
  if (textOf(type)?.trim().toLowerCase() !== 'blocks') return null;
  const other = fieldsOf(issue);
  // Nobody will finish it any more.
  if (isPutAway(other)) return null;
  const { id, identifier, state } = other;
  return { id, identifier, state: fieldsOf(state).name };
}
