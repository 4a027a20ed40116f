import { type Fields, fieldsOf, textOf } from '../../domain/fields.js';
import { ToolRefusal } from '../raw-tool.js';
import { ISSUE } from './issue-name.js';
import type { RestScope } from './rest-scope.js';

/** What a call sends, with the issues that it names. */
export interface BodyPlan {
  readonly issues: readonly string[];
  write(idOf: (issue: string) => string): unknown;
}

/** A new issue of the project. */
export function planCreation(body: Fields, scope: RestScope): BodyPlan {
  const { project, ...others } = fieldsOf(body.fields);
  const { key, id, ...more } = fieldsOf(project);
  const names = [key, id].filter((name) => name !== undefined);
  const isOurs = (name: unknown) => scope.isProject(textOf(typeof name === 'number' ? String(name) : name) ?? '');
  if (names.length === 0 || Object.keys(more).length > 0 || !names.every(isOurs))
    throw new ToolRefusal(`A new issue needs fields.project with the key ${scope.key}, and no other project.`);
  const { issues, write } = planEdit({ ...body, fields: others }, scope);
  return {
    issues,
    write: (idOf) => {
      const written = fieldsOf(write(idOf));
      return { ...written, fields: { ...fieldsOf(written.fields), project: { id: scope.projectId } } };
    },
  };
}

/** A change of an issue, by itself or along with a transition. */
export function planEdit(body: unknown, scope: RestScope): BodyPlan {
  const { fields, update } = fieldsOf(body);
  if (isOdd(body) || isOdd(fields) || isOdd(update)) throw new ToolRefusal('body, fields and update must be objects.');
  for (const name of [...Object.keys(fieldsOf(fields)), ...Object.keys(fieldsOf(update))]) {
    const plain = plainName(name);
    if (plain === 'attachment') throw new ToolRefusal('Files are out of reach of this tool.');
    if (plain === 'project') throw new ToolRefusal('An issue cannot be moved to another project with this tool.');
    if (plain === 'issuelinks') throw new ToolRefusal('Links are made with POST /issueLink.');
    if (plain === 'parent' && (name !== 'parent' || Object.hasOwn(fieldsOf(update), name)))
      throw new ToolRefusal('A parent is set with fields.parent.');
  }
  checkOperations(fieldsOf(fields), fieldsOf(update));
  const { parent = null } = fieldsOf(fields);
  if (parent === null) return { issues: [], write: () => body };
  const issue = issueNamedBy(parent, 'fields.parent', scope);
  return {
    issues: [issue],
    write: (idOf) => ({ ...fieldsOf(body), fields: { ...fieldsOf(fields), parent: { id: idOf(issue) } } }),
  };
}

/** A link between two issues of the project. */
export function planLink(body: Fields, scope: RestScope): BodyPlan {
  const inward = issueNamedBy(body.inwardIssue, 'inwardIssue', scope);
  const outward = issueNamedBy(body.outwardIssue, 'outwardIssue', scope);
  return {
    issues: [inward, outward],
    write: (idOf) => ({ ...body, inwardIssue: { id: idOf(inward) }, outwardIssue: { id: idOf(outward) } }),
  };
}

/** What others wrote is theirs: their numbers would lead to any issue. */
const ONLY_ADDED = ['comment', 'worklog'];

/** `edit` reaches by a number what may lie elsewhere, and `copy` takes from whatever issue it names. */
function checkOperations(fields: Fields, update: Fields): void {
  const set = Object.keys(fields).find((name) => ONLY_ADDED.includes(plainName(name)));
  if (set !== undefined) throw new ToolRefusal(`${set} cannot be set: write update.${plainName(set)} with add.`);
  for (const [name, written] of Object.entries(update)) {
    const allowed = ONLY_ADDED.includes(plainName(name)) ? ['add'] : ['add', 'set', 'remove'];
    const isGood = (each: unknown) => {
      const names = Object.keys(fieldsOf(each));
      return names.length > 0 && names.every((operation) => allowed.includes(operation));
    };
    if (Array.isArray(written) && written.every(isGood)) continue;
    throw new ToolRefusal(`update.${name.slice(0, 100)} must be a list of operations: ${allowed.join(', ')}.`);
  }
}

function plainName(name: string): string {
  return name.trim().toLowerCase();
}

/** One name only: of two, nobody knows which one Jira takes. */
function issueNamedBy(value: unknown, where: string, scope: RestScope): string {
  const { key, id } = fieldsOf(value);
  const name = textOf(typeof id === 'number' ? String(id) : (id ?? key));
  if (name === null || !ISSUE.test(name) || (id !== undefined && key !== undefined))
    throw new ToolRefusal(`${where} must name one issue, such as {"key": "${scope.key}-1"}.`);
  scope.checkKey(name);
  return name;
}

function isOdd(value: unknown): boolean {
  return value !== undefined && (typeof value !== 'object' || value === null || Array.isArray(value));
}
