import { type Fields, fieldsOf } from '../../domain/fields.js';
import { ToolRefusal } from '../raw-tool.js';
import { issueNumberOf } from './issue-number.js';
import type { Scope } from './read.js';
import { onlyProject, type ToolRoute } from './tool-paths.js';

/** What may be sent, and which other issues it touches: all of them must lie in the project. */
export interface ToolBody {
  readonly body: object;
  readonly touches: readonly number[];
}

/** What an issue can be given. Moving it to another project, and files, are not among it. */
const ISSUE_FIELDS = [
  ...['subject', 'description', 'status_id', 'tracker_id', 'priority_id', 'category_id', 'fixed_version_id'],
  ...['assigned_to_id', 'parent_issue_id', 'notes', 'private_notes', 'is_private', 'custom_fields', 'start_date'],
  ...['due_date', 'done_ratio', 'estimated_hours', 'watcher_user_ids'],
];

/** The body that an agent wrote, held to the project. Throws `ToolRefusal`. */
export function toolBody(written: unknown, route: ToolRoute, method: string, scope: Scope): ToolBody {
  if (route.kind === 'relations') return relationBody(written);
  if (route.kind === 'watchers') return watcherBody(written);
  const issue = inner(written, 'issue', [...ISSUE_FIELDS, 'project_id']);
  onlyProject(issue.project_id, scope);
  const { parent_issue_id: parent, project_id: _, ...rest } = issue;
  const touches = isAbsent(parent) ? [] : [numberOf(parent, 'issue.parent_issue_id')];
  const body = {
    ...rest,
    // Empty takes the issue away from its parent.
    ...(parent === undefined ? {} : { parent_issue_id: touches[0] ?? '' }),
    ...(method === 'POST' ? { project_id: scope.project } : {}),
  };
  return { body: { issue: body }, touches };
}

function relationBody(written: unknown): ToolBody {
  const relation = inner(written, 'relation', ['issue_to_id', 'relation_type', 'delay']);
  const to = numberOf(relation.issue_to_id, 'relation.issue_to_id');
  return { body: { relation: { ...relation, issue_to_id: to } }, touches: [to] };
}

function watcherBody(written: unknown): ToolBody {
  const { user_id: user, ...rest } = fieldsOf(written);
  if (Object.keys(rest).length > 0) throw new ToolRefusal('body takes user_id and nothing else.');
  return { body: { user_id: numberOf(user, 'user_id') }, touches: [] };
}

/** Redmine takes parameters from everywhere in a body: only the one object that is meant may be there. */
function inner(written: unknown, name: string, fields: readonly string[]): Fields {
  const body = fieldsOf(written);
  const value = body[name];
  const isAlone = Object.keys(body).length === 1;
  if (!isAlone || typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new ToolRefusal(`body must be {"${name}": {…}} and nothing else.`);
  }
  const stranger = Object.keys(value).find((key) => !fields.includes(key));
  if (stranger === undefined) return value as Fields;
  throw new ToolRefusal(`${name} may not hold ${JSON.stringify(stranger)}. It takes: ${fields.join(', ')}.`);
}

function numberOf(value: unknown, name: string): number {
  const number = typeof value === 'number' || typeof value === 'string' ? issueNumberOf(String(value)) : null;
  if (number === null) throw new ToolRefusal(`${name} must be one number.`);
  return number;
}

function isAbsent(value: unknown): boolean {
  return value === undefined || value === null || value === '';
}
