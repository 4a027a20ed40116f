import { setImmediate as nextTick } from 'node:timers/promises';
import { BatonError } from '../domain/errors.js';
import type { Blocker, Comment, Issue } from '../domain/issue.js';
import { foundIn, isMap, type JsonObject, listOf } from '../domain/json.js';

/** The fields of an issue as an adapter found them, unchecked. */
export type RawIssue = { readonly [field in keyof Issue]?: unknown };

/** Checks every field. Throws `tracker_response` without id, identifier, title or state; any other invalid field counts as absent. */
export function normaliseIssue(raw: RawIssue): Issue {
  return {
    id: required(raw, 'id'),
    identifier: required(raw, 'identifier'),
    title: required(raw, 'title'),
    description: body(raw.description),
    priority: Number.isSafeInteger(raw.priority) ? (raw.priority as number) : null,
    state: required(raw, 'state'),
    branch_name: text(raw.branch_name),
    url: webAddress(raw.url),
    assignee_id: text(raw.assignee_id),
    author: author(raw.author),
    labels: labels(raw.labels),
    blocked_by: foundIn(raw.blocked_by, blocker),
    comments: foundIn(raw.comments, comment),
    // Absent means true. Any other value must not start a run.
    dispatchable: raw.dispatchable === undefined || raw.dispatchable === null || raw.dispatchable === true,
    held_back: text(raw.held_back),
    native_ref: nativeRef(raw.native_ref),
    created_at: time(raw.created_at),
    updated_at: time(raw.updated_at),
  };
}

function required(raw: RawIssue, field: 'id' | 'identifier' | 'title' | 'state'): string {
  const value = text(raw[field]);
  if (value !== null) return value;
  const name = text(raw.identifier) ?? text(raw.id);
  const which = name === null ? 'An issue' : `Issue ${name}`;
  const message = `${which} came from the tracker without ${field}. Check the endpoint and the settings under tracker.provider.`;
  throw new BatonError('tracker_response', message, { field });
}

/** Trimmed; blank is absent. Some trackers send ids as numbers. */
function text(value: unknown): string | null {
  if (Number.isSafeInteger(value)) return String(value);
  return typeof value === 'string' && value.trim() !== '' ? value.trim() : null;
}

/** Not trimmed: leading blanks have a meaning in Markdown. */
function body(value: unknown): string | null {
  return typeof value === 'string' && value.trim() !== '' ? value : null;
}

const MAX_NATIVE_REF_CHARACTERS = 4_000;

/** The tracker's own names of an issue. A text, as programs for an earlier version send it, becomes the member `ref`. */
function nativeRef(value: unknown): JsonObject | null {
  const ref = text(value);
  if (ref !== null) return { ref };
  return isMap(value) && JSON.stringify(value).length <= MAX_NATIVE_REF_CHARACTERS ? value : null;
}

/** Only http and https: the page makes links of addresses, and other schemes can run code. */
function webAddress(value: unknown): string | null {
  const address = text(value);
  return address !== null && /^https?:\/\//i.test(address) && URL.canParse(address) ? address : null;
}

/** The format of most trackers, for days that every month has. */
const PLAIN_UTC = /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d{3})?Z$/;

/** In UTC, so that the texts sort like times. A poll may bring twenty thousand, so the common format is not parsed. */
function time(value: unknown): string | null {
  if (typeof value !== 'string') return null;
  const plain = PLAIN_UTC.exec(value);
  if (plain !== null) return plain[1] === undefined ? `${value.slice(0, -1)}.000Z` : value;
  const ms = Date.parse(value);
  return Number.isNaN(ms) ? null : new Date(ms).toISOString();
}

function author(value: unknown): Issue['author'] {
  const login = text(field(value, 'login'));
  const trusted = field(value, 'trusted');
  if (login === null) return null;
  return { login, trusted: trusted === undefined || trusted === null ? null : trusted === true };
}

function labels(value: unknown): string[] {
  const names = new Set<string>();
  for (const label of listOf(value)) {
    const name = typeof label === 'string' ? label.trim().toLowerCase() : '';
    if (name !== '') names.add(name);
  }
  return [...names];
}

function blocker(value: unknown): Blocker | null {
  const found = {
    id: text(field(value, 'id')),
    identifier: text(field(value, 'identifier')),
    state: text(field(value, 'state')),
  };
  return found.id === null && found.identifier === null ? null : found;
}

function comment(value: unknown): Comment | null {
  const content = body(field(value, 'body'));
  if (content === null) return null;
  return { author: text(field(value, 'author')), body: content, created_at: time(field(value, 'created_at')) };
}

function field(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? (value as { readonly [key: string]: unknown })[name] : undefined;
}

export interface NormalisedList {
  readonly issues: readonly Issue[];
  /** A sentence for each record that is no issue. */
  readonly problems: readonly string[];
}

const MAX_PROBLEMS = 100;
/** These take some milliseconds; then agents and timers have their turn. */
const PER_TICK = 200;

/** For lists: a record that is no issue is reported and skipped, so that it does not stop all work. */
export async function normaliseList(raws: Iterable<RawIssue>): Promise<NormalisedList> {
  const results: NormaliseResult[] = [];
  for (const raw of raws) {
    if (results.push(tryNormalise(raw)) % PER_TICK === 0) await nextTick();
  }
  return collectIssues(results);
}

/** An issue, or why the record is none. */
export type NormaliseResult = Issue | BatonError;

/** For one page at a time: the records of a page are larger than their issues, and need not stay in memory until the last page. */
export function tryNormalise(raw: RawIssue): NormaliseResult {
  try {
    return normaliseIssue(raw);
  } catch (error) {
    if (error instanceof BatonError) return error;
    throw error;
  }
}

export function collectIssues(results: readonly NormaliseResult[]): NormalisedList {
  const issues = results.filter((one): one is Issue => !(one instanceof BatonError));
  const problems = results.filter((one) => one instanceof BatonError).map(({ message }) => message);
  return { issues, problems: someOf(problems) };
}

/** The first hundred problems, and the number of the others. */
export function someOf(problems: readonly string[]): readonly string[] {
  const rest = problems.length - MAX_PROBLEMS;
  return rest <= 0 ? problems : [...problems.slice(0, MAX_PROBLEMS), `… and ${rest} more of the kind.`];
}
