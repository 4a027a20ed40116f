import { type Fields, fieldsOf, listOf } from '../../domain/fields.js';

const REQUIRED = ['id', 'identifier', 'title', 'state'] as const;

/** What keeps a record from being an issue, going on from "it …"; `null`: nothing. */
export function recordFault(record: Fields): string | null {
  const missing = REQUIRED.filter((field) => !isName(record[field]));
  return missing.length === 0 ? null : `sent ${nameOf(record)} without ${missing.join(', ')}`;
}

/** The optional fields of a record that Baton would take for absent, a sentence part each. */
export function optionalFaults(record: Fields): string[] {
  const faults = OPTIONAL.filter(([field, isFit]) => !isAbsent(record[field]) && !isFit(record[field]));
  return faults.map(([field, , form]) => `${field} of ${nameOf(record)} is no ${form}: ${shortly(record[field])}`);
}

/** What is wrong with a comment, going on from "it …"; `null`: nothing. */
export function commentFault(comment: unknown): string | null {
  const { body, author, created_at: createdAt } = fieldsOf(comment);
  if (typeof body !== 'string') return `sent a comment without a text as its body: ${shortly(comment)}`;
  if (!isAbsent(author) && !isWriter(author)) return `sent a comment with an author that is none: ${shortly(author)}`;
  if (!isAbsent(createdAt) && !isTime(createdAt)) return `sent a comment with a created_at that is no time`;
  return null;
}

export function nameOf(record: unknown): string {
  const { identifier, id } = fieldsOf(record);
  return isName(identifier) ? String(identifier) : isName(id) ? String(id) : 'an issue';
}

const isBoolean = (value: unknown) => typeof value === 'boolean';
const isText = (value: unknown) => typeof value === 'string';

/** Beside the required ones. `description` and the like may be empty, which is as good as absent. */
const OPTIONAL: readonly (readonly [field: string, isFit: (value: unknown) => boolean, form: string])[] = [
  ['description', isText, 'text'],
  ['priority', Number.isSafeInteger, 'whole number'],
  ['branch_name', isText, 'text'],
  ['url', (value) => value === '' || isWebAddress(value), 'address of the web'],
  ['assignee_id', (value) => value === '' || isName(value), 'text'],
  ['author', isWriter, 'login, and no {"login", "trusted"}'],
  ['labels', (value) => Array.isArray(value) && value.every(isText), 'list of texts'],
  ['blocked_by', isBlockerList, 'list of {"id", "identifier", "state"}'],
  [
    'comments',
    (value) => Array.isArray(value) && value.every((each) => commentFault(each) === null),
    'list of comments',
  ],
  ['dispatchable', isBoolean, 'true or false'],
  ['held_back', isText, 'text'],
  ['native_ref', (value) => value === '' || isName(value), 'text'],
  ['created_at', isTime, 'time such as 2026-01-31T12:00:00Z'],
  ['updated_at', isTime, 'time such as 2026-01-31T12:00:00Z'],
];

function isBlockerList(value: unknown): boolean {
  const isBlocker = (each: unknown) => isName(fieldsOf(each).id) || isName(fieldsOf(each).identifier);
  return Array.isArray(value) && listOf(value).every(isBlocker);
}

function isWriter(value: unknown): boolean {
  if (typeof value === 'string') return true;
  const { login, trusted } = fieldsOf(value);
  return isText(login) && (isAbsent(trusted) || isBoolean(trusted));
}

function isWebAddress(value: unknown): boolean {
  return typeof value === 'string' && /^\s*https?:\/\//i.test(value) && URL.canParse(value);
}

function isTime(value: unknown): boolean {
  return typeof value === 'string' && !Number.isNaN(Date.parse(value));
}

function isName(value: unknown): boolean {
  return Number.isSafeInteger(value) || (typeof value === 'string' && value.trim() !== '');
}

function isAbsent(value: unknown): boolean {
  return value === undefined || value === null;
}

const MAX_SHOWN = 80;

function shortly(value: unknown): string {
  const text = JSON.stringify(value) ?? 'nothing';
  return text.length <= MAX_SHOWN ? text : `${text.slice(0, MAX_SHOWN)}…`;
}
