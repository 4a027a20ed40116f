import { type Fields, fieldsOf } from '../../domain/fields.js';
import { isPrivate } from './journals.js';

/** What Redmine answered, without what no agent may hear: the key, which it tells everybody of themselves, and private notes. */
export function fitToTell(body: unknown): unknown {
  const { user, issue, issues } = fieldsOf(body);
  if (user !== undefined) return { ...fieldsOf(body), user: withoutKey(user) };
  if (issue !== undefined) return { ...fieldsOf(body), issue: withoutPrivateNotes(issue) };
  if (Array.isArray(issues)) return { ...fieldsOf(body), issues: issues.map(withoutPrivateNotes) };
  return body;
}

function withoutKey(user: unknown): Fields {
  const { api_key: _, ...rest } = fieldsOf(user);
  return rest;
}

function withoutPrivateNotes(issue: unknown): Fields {
  const { journals, ...rest } = fieldsOf(issue);
  if (!Array.isArray(journals)) return rest;
  return { ...rest, journals: journals.filter((journal) => !isPrivate(fieldsOf(journal))) };
}
