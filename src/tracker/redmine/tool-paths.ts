import { ToolRefusal } from '../raw-tool.js';
import { parseRestPath } from '../rest-path.js';
import { issueNumberOf } from './issue-number.js';
import { inScope, type Scope } from './read.js';

/** A path that may be asked for, and what must hold before it is. */
export interface ToolRoute {
  readonly methods: readonly string[];
  /** As it is sent, with its ending and without its query. */
  readonly path: string;
  /** Names of what may stand in the query. */
  readonly query: readonly string[];
  readonly includes: readonly string[];
  readonly kind: 'issues' | 'issue' | 'relations' | 'watchers' | 'relation' | 'plain';
  /** The issue or relation that the path names. */
  readonly number: number | null;
}

const PAGE = ['limit', 'offset'];
const FILTERS = [
  ...['issue_id', 'status_id', 'tracker_id', 'priority_id', 'category_id', 'fixed_version_id', 'parent_id', 'subject'],
  ...['assigned_to_id', 'author_id', 'created_on', 'updated_on', 'closed_on', 'sort', 'project_id', ...PAGE],
];
/** Not `children`: those may lie in other projects. */
const ISSUE_PARTS = ['journals', 'relations', 'attachments', 'watchers', 'allowed_statuses', 'changesets'];
const PROJECT_PARTS = ['trackers', 'issue_categories', 'enabled_modules', 'time_entry_activities'];
const PROJECT_LISTS = ['versions', 'issue_categories', 'memberships'];
const PLAIN = ['/issue_statuses', '/trackers', '/enumerations/issue_priorities', '/users/current'];

const HELP =
  'It reaches /issues.json, /issues/{id}.json, /issues/{id}/relations.json, /issues/{id}/watchers.json, /relations/{id}.json, /issue_statuses.json, ' +
  '/trackers.json, /enumerations/issue_priorities.json, /users/current.json, and /projects/{project}.json with versions, issue_categories and memberships.';

/** The path and query that an agent wrote, held to the project. Throws `ToolRefusal`. */
export function toolRoute(
  written: string,
  scope: Scope,
): { readonly route: ToolRoute; readonly query: URLSearchParams } {
  const parsed = parseRestPath(written);
  if (typeof parsed === 'string') throw new ToolRefusal(`The ${parsed}. ${HELP}`);
  const route = routeOf(parsed.segments, scope);
  if (route === null) throw new ToolRefusal(`This path is out of reach. ${HELP} The project is ${scope.project}.`);
  const query = new URLSearchParams(parsed.query);
  checkQuery(query, route);
  if (route.kind !== 'issues') return { route, query };
  onlyProject(query.get('project_id'), scope);
  for (const [name, value] of Object.entries(inScope(scope))) query.set(name, value);
  return { route, query };
}

/** A project that an agent names must be the one that is configured; it may as well name none. */
export function onlyProject(written: unknown, { project }: Scope): void {
  if (written === undefined || written === null || written === project) return;
  throw new ToolRefusal(`Only the project ${project} is in reach: write project_id "${project}", or leave it out.`);
}

function routeOf(written: readonly string[], { project }: Scope): ToolRoute | null {
  const segments = [...written.slice(0, -1), (written.at(-1) ?? '').replace(/\.json$/, '')];
  const [first, second = '', third] = segments;
  const plain = { query: [], includes: [], kind: 'plain', number: null, methods: ['GET'] } as const;
  const path = `/${segments.map(encodeURIComponent).join('/')}.json`;
  if (PLAIN.includes(`/${segments.join('/')}`)) return { ...plain, path };
  if (first === 'projects' && second === project) {
    if (segments.length === 2) return { ...plain, path, includes: PROJECT_PARTS };
    const isList = segments.length === 3 && PROJECT_LISTS.includes(third ?? '');
    return isList ? { ...plain, path, query: PAGE } : null;
  }
  if (first === 'issues' && segments.length === 1) {
    return { ...plain, path, kind: 'issues', methods: ['GET', 'POST'], query: FILTERS, includes: ISSUE_PARTS };
  }
  const number = /^\d+$/.test(second) ? issueNumberOf(second) : null;
  if (number === null) return null;
  const one = { ...plain, path, number };
  if (first === 'relations' && segments.length === 2) return { ...one, kind: 'relation' };
  if (first !== 'issues') return null;
  if (segments.length === 2) return { ...one, kind: 'issue', methods: ['GET', 'PUT'], includes: ISSUE_PARTS };
  if (segments.length !== 3) return null;
  if (third === 'relations') return { ...one, kind: 'relations', methods: ['GET', 'POST'] };
  return third === 'watchers' ? { ...one, kind: 'watchers', methods: ['POST'] } : null;
}

/** `key` would be another account, `query_id` another project's: only what is known to stay inside. */
function checkQuery(query: URLSearchParams, { query: names, includes, kind, path }: ToolRoute): void {
  for (const [name, value] of query) {
    if (name === 'include' && includes.length > 0) {
      const stranger = value.split(',').find((part) => !includes.includes(part.trim()));
      if (stranger === undefined) continue;
      throw new ToolRefusal(`include takes ${includes.join(', ')} here, not ${JSON.stringify(stranger)}.`);
    }
    if (names.includes(name) || (kind === 'issues' && /^cf_\d{1,9}$/.test(name))) continue;
    const allowed = [...names, ...(includes.length > 0 ? ['include'] : [])];
    const advice = allowed.length === 0 ? 'It takes none.' : `It takes: ${allowed.join(', ')}.`;
    throw new ToolRefusal(`The query of ${path} may not hold ${JSON.stringify(name)}. ${advice}`);
  }
}
