import type { Trust } from '../../domain/config.js';
import { BatonError } from '../../domain/errors.js';
import { type Issue, stateKey } from '../../domain/issue.js';
import { type Fields, fieldsOf, isAbsent, textOf } from '../../domain/json.js';
import type { IssueBatch } from '../../domain/ports.js';
import { shown } from '../../text/neutralise.js';
import { normaliseIssue, normaliseList, type RawIssue, someOf } from '../normalise-issue.js';
import { isTrustedWriter, trustedComments } from '../trust.js';

export interface ReadContext {
  /** `null` when WORKFLOW.md does not set it: then the program decides. */
  readonly trust: Trust | null;
  mask(text: string): string;
}

/** The batch in the result of `issues_by_states`. Issues in other states are dropped and reported. */
export async function issuesInStates(
  result: Fields,
  states: readonly string[],
  context: ReadContext,
): Promise<IssueBatch> {
  const { issues, problems } = await normaliseList(recordsIn(result, 'issues_by_states', context.trust));
  const wanted = new Set(states.map(stateKey));
  const isWanted = ({ state }: Issue) => wanted.has(stateKey(state));
  const strays = issues
    .filter((issue) => !isWanted(issue))
    .map(({ identifier, state }) => {
      const [shownIdentifier, shownState] = [identifier, state].map((text) => shown(text, context.mask));
      return `The tracker program sent ${shownIdentifier}, which is in "${shownState}" and was not asked for.`;
    });
  const reported = someOf([...strays, ...problemsIn(result, 'issues_by_states', context)]);
  return { issues: uniqueIssues(issues.filter(isWanted)), unknown: [], problems: [...problems, ...reported] };
}

/** The batch in the result of `issues_by_ids`. Throws when a record is not an issue: a missing issue would count as gone. */
export function issuesWithIds(result: Fields, ids: readonly string[], context: ReadContext): IssueBatch {
  const wanted = new Set(ids);
  const all = recordsIn(result, 'issues_by_ids', context.trust).map(normaliseIssue);
  const issues = uniqueIssues(all.filter(({ id, identifier }) => wanted.has(id) || wanted.has(identifier)));
  const found = new Set(issues.flatMap(({ id, identifier }) => [id, identifier]));
  const unknown = textsIn(result, 'unknown', 'issues_by_ids').filter((id) => wanted.has(id) && !found.has(id));
  const problems = someOf(problemsIn(result, 'issues_by_ids', context));
  return { issues, unknown: [...new Set(unknown)], problems };
}

/** The comments in the result of `comments`. */
export function commentsOf(result: Fields, trust: Trust | null): Issue['comments'] {
  return commentsIn(requiredList(result, 'comments', 'comments'), trust);
}

/** The description that a program gives of itself. */
export interface Description {
  readonly user: string | null;
  readonly target: string | null;
  /** Empty when the program does not list them. */
  readonly states: readonly string[];
  /** `null` when the program does not list them. */
  readonly methods: readonly string[] | null;
}

/** The description in the result of `describe`. */
export function descriptionIn(result: Fields): Description {
  return {
    user: textOf(result.user),
    target: textOf(result.target),
    states: textsIn(result, 'states', 'describe'),
    methods: isAbsent(result.methods) ? null : textsIn(result, 'methods', 'describe'),
  };
}

function recordsIn(result: Fields, method: string, trust: Trust | null): RawIssue[] {
  return requiredList(result, 'issues', method).map((value) => {
    const fields = fieldsOf(value);
    const comments = Array.isArray(fields.comments) ? commentsIn(fields.comments, trust) : [];
    return { ...fields, author: authorIn(fields.author, trust), comments };
  });
}

function problemsIn(result: Fields, method: string, { mask }: ReadContext): string[] {
  return textsIn(result, 'problems', method).map((text) => shown(text, mask));
}

function requiredList(result: Fields, key: string, method: string): readonly unknown[] {
  const value = result[key];
  if (Array.isArray(value)) return value;
  const message = `The tracker program answered ${method} without a list \`${key}\` in its result. An empty board is an empty list.`;
  throw new BatonError('tracker_response', message);
}

/** Numbers are accepted as texts: ids may be numbers in the tracker. */
function textsIn(result: Fields, key: string, method: string): string[] {
  const value = isAbsent(result[key]) ? [] : result[key];
  const isText = (item: unknown) => typeof item === 'string' || Number.isSafeInteger(item);
  if (Array.isArray(value) && value.every(isText)) return value.map(String);
  const message = `The tracker program answered ${method} with a \`${key}\` that is not a list of texts. Correct it, or leave it out.`;
  throw new BatonError('tracker_response', message);
}

/** The last record of an issue counts. */
function uniqueIssues(issues: readonly Issue[]): Issue[] {
  return [...new Map(issues.map((issue) => [issue.id, issue])).values()];
}

/** Shown for an untrusted author whom the program does not name. */
const UNNAMED = '(not named)';

export function authorIn(value: unknown, trust: Trust | null): Issue['author'] {
  const { login, trusted } = writerIn(value);
  const isTrusted = decideTrust(login, trusted, trust);
  if (login !== null) return { login, trusted: isTrusted };
  return isTrusted === false ? { login: UNNAMED, trusted: false } : null;
}

/** The newest comments of trusted writers, oldest first. */
export function commentsIn(values: readonly unknown[], trust: Trust | null): Issue['comments'] {
  const written = values.flatMap((value) => {
    const { author, body, created_at: createdAt } = fieldsOf(value);
    const { login, trusted } = writerIn(author);
    if (typeof body !== 'string' || decideTrust(login, trusted, trust) === false) return [];
    const ms = typeof createdAt === 'string' ? Date.parse(createdAt) : Number.NaN;
    return [{ login, isMember: null, body, created_at: Number.isNaN(ms) ? null : new Date(ms).toISOString() }];
  });
  const sorted = written.every(({ created_at: at }) => at !== null)
    ? written.sort((a, b) => Date.parse(a.created_at ?? '') - Date.parse(b.created_at ?? ''))
    : written;
  // Trust is already decided here; this only limits number and size.
  return trustedComments(sorted, 'anyone');
}

/** `"ann"` is short for `{"login": "ann"}`. */
function writerIn(value: unknown): { readonly login: string | null; readonly trusted: unknown } {
  const { login, trusted } = typeof value === 'string' ? { login: value, trusted: null } : fieldsOf(value);
  return { login: textOf(login)?.trim() || null, trusted };
}

/** Under `members`, only `true` of the program counts. Without `tracker.trust`, only its `false` does. */
function decideTrust(login: string | null, given: unknown, trust: Trust | null): boolean | null {
  if (trust !== null) return isTrustedWriter({ login, isMember: given === true }, trust);
  return given === undefined || given === null ? null : given === true;
}
