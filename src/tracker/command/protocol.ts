import type { Trust } from '../../domain/config.js';
import { BatonError } from '../../domain/errors.js';
import { type Issue, stateKey } from '../../domain/issue.js';
import { type Fields, fieldsOf, isAbsent, type JsonObject, textOf } from '../../domain/json.js';
import type { IssueBatch } from '../../domain/ports.js';
import { shown } from '../../text/neutralise.js';
import { normaliseIssue, normaliseList, type RawIssue, someOf } from '../normalise-issue.js';
import { isTrustedWriter, trustedComments } from '../trust.js';

const METHODS = ['issues_by_states', 'issues_by_ids', 'comments', 'comment', 'move', 'describe'] as const;
type Method = (typeof METHODS)[number];

export interface Question {
  readonly method: Method;
  readonly params: JsonObject;
  /** Part of a change that somebody waits for: goes before what only looks. */
  readonly isUrgent?: boolean;
}

/** What may have happened although nobody heard so: never asked twice. */
export function isChange({ method }: { readonly method: string }): boolean {
  return method === 'comment' || method === 'move';
}

/**
 * A line of the protocol, without its end. In ASCII: to some languages U+2028 ends a line, and others read the encoding of the locale.
 */
export function lineOf(
  id: number,
  { method, params }: { readonly method: string; readonly params: JsonObject },
): string {
  return JSON.stringify({ v: 1, id, method, params }).replace(/[\u007f-\uffff]/g, escaped);
}

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

/** A question on its way: settled once, by its answer or by whoever gives it up. */
export class Asked {
  readonly answer: Promise<ProgramReply>;
  /** Settles with it, and never rejects. */
  readonly over: Promise<void>;
  #isOver = false;
  #resolve: (answer: ProgramReply) => void = () => {};
  #reject: (error: Error) => void = () => {};

  constructor(readonly question: Question) {
    this.answer = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    const end = () => {};
    this.over = this.answer.then(end, end);
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  settle(answer: ProgramReply): void {
    this.#isOver = true;
    this.#resolve(answer);
  }

  fail(error: Error): void {
    this.#isOver = true;
    this.#reject(error);
  }
}

/** One line of the program, read. `id` may be anything: whether it is that of the question, the asker knows. */
export type ProgramReply =
  | { readonly kind: 'result'; readonly id: unknown; readonly result: Fields }
  | { readonly kind: 'error'; readonly id: unknown; readonly error: ProgramError };

export interface ProgramError {
  /** One of `auth`, `rate_limited`, `not_found`, `refused`, `unsupported`, `failed`; any other counts as `failed`. */
  readonly code: string;
  readonly message: string | null;
  readonly resetAt: string | null;
  /** Seconds from now, as HTTP's Retry-After. */
  readonly retryAfterS: number | null;
}

const decoder = new TextDecoder('utf-8', { fatal: true });

/** The answer in a line; a text: what is wrong with it, going on from "it …". */
export function readAnswer(line: Buffer): ProgramReply | string {
  const text = textIn(line);
  if (text === null) return 'wrote a line that is not UTF-8';
  const parsed = parse(text);
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) {
    return parsed === undefined ? 'wrote a line that is not JSON' : 'wrote a line that is no JSON object';
  }
  const { id, result, error } = parsed as Fields;
  if (error !== undefined && error !== null) {
    const { code, message, reset_at: resetAt, retry_after: retryAfter } = fieldsOf(error);
    const read = {
      code: textOf(code) ?? 'failed',
      message: textOf(message) ?? textOf(error),
      resetAt: textOf(resetAt),
      retryAfterS: typeof retryAfter === 'number' ? retryAfter : null,
    };
    return { kind: 'error', id, error: read };
  }
  if (typeof result === 'object' && result !== null && !Array.isArray(result)) {
    return { kind: 'result', id, result: result as Fields };
  }
  return 'wrote an answer that has neither an object as its `result` nor an `error`';
}

function textIn(line: Buffer): string | null {
  try {
    return decoder.decode(line);
  } catch {
    return null;
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

export function isBlank(line: Buffer): boolean {
  return line.every((byte) => byte === 0x20 || byte === 0x09 || byte === 0x0d);
}

export interface ReadPlace {
  readonly trust: Trust | null;
  mask(text: string): string;
}

export interface Description {
  readonly user: string | null;
  readonly target: string | null;
  /** Empty: not told. */
  readonly states: readonly string[];
  /** `null`: not told. */
  readonly methods: readonly string[] | null;
}

/** The batch in the answer to `issues_by_states`. What was not asked for is left out and told. */
export async function issuesInStates(result: Fields, states: readonly string[], place: ReadPlace): Promise<IssueBatch> {
  const { issues, problems } = await normaliseList(recordsIn(result, 'issues_by_states', place.trust));
  const wanted = new Set(states.map(stateKey));
  const isWanted = ({ state }: Issue) => wanted.has(stateKey(state));
  const strays = issues
    .filter((issue) => !isWanted(issue))
    .map(
      ({ identifier, state }) =>
        `The tracker program sent ${shown(identifier, place.mask)}, which is in "${shown(state, place.mask)}" and was not asked for.`,
    );
  const told = [...strays, ...problemsIn(result, 'issues_by_states', place)];
  return { issues: unique(issues.filter(isWanted)), unknown: [], problems: [...problems, ...someOf(told)] };
}

/** The batch in the answer to `issues_by_ids`. A record that is no issue spoils it: who is absent is gone. */
export function issuesWithIds(result: Fields, ids: readonly string[], place: ReadPlace): IssueBatch {
  const asked = new Set(ids);
  const all = recordsIn(result, 'issues_by_ids', place.trust).map(normaliseIssue);
  const issues = unique(all.filter(({ id, identifier }) => asked.has(id) || asked.has(identifier)));
  const found = new Set(issues.flatMap(({ id, identifier }) => [id, identifier]));
  const unknown = textsIn(result, 'unknown', 'issues_by_ids').filter((id) => asked.has(id) && !found.has(id));
  const problems = someOf(problemsIn(result, 'issues_by_ids', place));
  return { issues, unknown: [...new Set(unknown)], problems };
}

export function commentsOf(result: Fields, trust: Trust | null): Issue['comments'] {
  return commentsIn(requiredList(result, 'comments', 'comments'), trust);
}

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

function problemsIn(result: Fields, method: string, { mask }: ReadPlace): string[] {
  return textsIn(result, 'problems', method).map((text) => shown(text, mask));
}

function requiredList(result: Fields, key: string, method: string): readonly unknown[] {
  const value = result[key];
  if (Array.isArray(value)) return value;
  const message = `The tracker program answered ${method} without a list \`${key}\` in its result. An empty board is an empty list.`;
  throw new BatonError('tracker_response', message);
}

/** Ids may be numbers in the tracker. */
function textsIn(result: Fields, key: string, method: string): string[] {
  const value = isAbsent(result[key]) ? [] : result[key];
  const isText = (item: unknown) => typeof item === 'string' || Number.isSafeInteger(item);
  if (Array.isArray(value) && value.every(isText)) return value.map(String);
  const message = `The tracker program answered ${method} with something as \`${key}\` that is no list of texts. Correct it, or leave it out.`;
  throw new BatonError('tracker_response', message);
}

/** Of an issue that was sent twice the last one counts. */
function unique(issues: readonly Issue[]): Issue[] {
  return [...new Map(issues.map((issue) => [issue.id, issue])).values()];
}

/** Whom an issue comes from where the program names nobody, when it matters. */
const UNNAMED = '(not named)';

/** `trust`: `null` where nobody wrote it; then the program's own word counts. */
export function authorIn(value: unknown, trust: Trust | null): Issue['author'] {
  const { login, trusted } = writerIn(value);
  const judged = judge(login, trusted, trust);
  if (login !== null) return { login, trusted: judged };
  return judged === false ? { login: UNNAMED, trusted: false } : null;
}

/** The newest comments that an agent may read, oldest first. */
export function commentsIn(values: readonly unknown[], trust: Trust | null): Issue['comments'] {
  const written = values.flatMap((value) => {
    const { author, body, created_at: createdAt } = fieldsOf(value);
    const { login, trusted } = writerIn(author);
    if (typeof body !== 'string' || judge(login, trusted, trust) === false) return [];
    return [{ login, isMember: null, body, created_at: timeIn(createdAt) }];
  });
  const inOrder = written.every(({ created_at: at }) => at !== null)
    ? written.sort((a, b) => Date.parse(a.created_at ?? '') - Date.parse(b.created_at ?? ''))
    : written;
  // Judged above: what is left is only cut to what a prompt can take.
  return trustedComments(inOrder, 'anyone');
}

/** `"ann"` is as good as `{"login": "ann"}`. */
function writerIn(value: unknown): { readonly login: string | null; readonly trusted: unknown } {
  const { login, trusted } = typeof value === 'string' ? { login: value, trusted: null } : fieldsOf(value);
  return { login: textOf(login)?.trim() || null, trusted };
}

/** Under `members` only a plain yes of the program counts; where nobody wrote `tracker.trust`, only its plain no. */
function judge(login: string | null, given: unknown, trust: Trust | null): boolean | null {
  if (trust !== null) return isTrustedWriter({ login, isMember: given === true }, trust);
  return given === undefined || given === null ? null : given === true;
}

function timeIn(value: unknown): string | null {
  const ms = typeof value === 'string' ? Date.parse(value) : Number.NaN;
  return Number.isNaN(ms) ? null : new Date(ms).toISOString();
}
