import { BatonError } from '../domain/errors.js';
import { stateKey } from '../domain/issue.js';
import { type Fields, fieldsOf, type JsonObject } from '../domain/json.js';
import type { HostTool, HostToolResult } from '../domain/ports.js';
import { END_YOUR_TURN, limitIn } from './update-issue.js';

const TIME_LIMIT_MS = 60_000;
/** Reading the issue before a change must not use up the time of the change. */
const STATE_BEFORE_LIMIT_MS = 10_000;
const MAX_INPUT_CHARS = 200_000;
const MAX_RESULT_CHARS = 100_000;
/** An agent sees far less than this. Masking secrets in a larger answer would block the daemon. */
export const MAX_ANSWER_BYTES = 4 * 1024 * 1024;

interface RawToolOptions {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: JsonObject;
  /** Removes every known secret from a text. */
  mask(text: string): string;
  /** The state of an issue now; `null` when it is unknown. */
  stateOf(issueId: string, signal: AbortSignal): Promise<string | null>;
  /** Checks a call. Throws `ToolRefusal` when the call is not allowed. */
  plan(input: Fields, signal: AbortSignal): RawCall | Promise<RawCall>;
}

/** A call that is allowed and not yet sent. */
export interface RawCall {
  /** False when the call only reads. */
  readonly isChange: boolean;
  /** Throws `BatonError` when the tracker fails. */
  send(): Promise<RawResult>;
}

export interface RawResult {
  /** The tracker accepted the call. */
  readonly ok: boolean;
  /** The answer of the tracker. */
  readonly body: unknown;
  readonly status?: number;
}

/** Tells the agent why its call is not allowed, and which calls are. */
export class ToolRefusal extends Error {}

/**
 * A tool that sends an agent's own request to the tracker, on the host and with the host's token. It answers in JSON. A failure is
 * `{"error": {"code", "message"}}`, an answer that is too long is `{"truncated": true, "body": "…"}`.
 */
export function rawTool(options: RawToolOptions): HostTool {
  const { name, description, inputSchema, mask } = options;
  const answer = (success: boolean, value: unknown): HostToolResult => ({
    success,
    text: truncate(mask(JSON.stringify(value))),
  });
  const failure = (code: string, message: string) => answer(false, { error: { code, message } });
  const answerOf = ({ ok, body = null, status }: RawResult) => {
    try {
      return answer(ok, status === undefined ? body : { status, body });
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      return failure('tracker_response', 'The answer of the tracker is nested too deeply to be shown.');
    }
  };
  return {
    name,
    description,
    inputSchema,
    maxInputChars: MAX_INPUT_CHARS,
    async call(input, { issue }) {
      if (typeof input !== 'object' || input === null || Array.isArray(input)) {
        return failure('invalid_input', `${name} takes an object.`);
      }
      const signal = AbortSignal.timeout(TIME_LIMIT_MS);
      try {
        if (JSON.stringify(input).length > MAX_INPUT_CHARS) {
          return failure('invalid_input', `The input has more than ${MAX_INPUT_CHARS} characters.`);
        }
        const { isChange, send } = await options.plan(fieldsOf(input), signal);
        if (!isChange) return answerOf(await send());
        const { result, movedTo } = await sendChange(issue.id, send, options, signal);
        return movedTo === null ? answerOf(result) : { ...answerOf(result), movedTo };
      } catch (error) {
        if (error instanceof ToolRefusal) return failure('refused', error.message);
        const limitedUntilMs = limitIn(error);
        if (error instanceof BatonError && limitedUntilMs !== null) {
          return { ...failure(error.code, `${error.message} ${END_YOUR_TURN}`), limitedUntilMs };
        }
        if (error instanceof BatonError) return failure(error.code, error.message);
        if (error instanceof RangeError) return failure('invalid_input', 'The input is nested too deeply to be sent.');
        throw error;
      }
    },
  };
}

interface ChangeResult {
  readonly result: RawResult;
  /** The state into which the call moved the run's own issue; `null`: it did not. */
  readonly movedTo: string | null;
}

/**
 * Sends a change, and compares the state of the run's own issue before and after it: a run whose own tool moved its issue may end its turn. The state before is read
 * because a person may have moved the issue since the last poll. A change is sent even when the state cannot be read; the next poll finds it.
 */
async function sendChange(
  issueId: string,
  send: RawCall['send'],
  { stateOf }: RawToolOptions,
  signal: AbortSignal,
): Promise<ChangeResult> {
  const stateNow = (until: AbortSignal) => stateOf(issueId, until).catch(() => null);
  const before = await stateNow(AbortSignal.any([signal, AbortSignal.timeout(STATE_BEFORE_LIMIT_MS)]));
  const result = await send();
  const after = before === null ? null : await stateNow(signal);
  const isMoved = before !== null && after !== null && stateKey(before) !== stateKey(after);
  return { result, movedTo: isMoved ? after : null };
}

function truncate(json: string): string {
  if (json.length <= MAX_RESULT_CHARS) return json;
  const advice = 'The answer was too long and is cut. Ask for fewer fields, or for a smaller page.';
  return JSON.stringify({ truncated: true, advice, body: json.slice(0, MAX_RESULT_CHARS / 2) });
}

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;
type RestMethod = (typeof METHODS)[number];

/**
 * One row of a tracker's table: calls that are allowed or refused. A tracker can add columns; its `prepare` reads them from `call.rule`.
 */
export interface RestRule {
  /**
   * The methods and the path: `POST PUT issues/{number}/labels`. A name in braces is a segment: `{number}` matches digits, `{any}` matches anything, other names are
   * in `RestTable.segments`. A `**` at the end matches any rest of the path, also an empty one.
   */
  readonly call: string;
  /** The call is refused with this sentence. */
  readonly refuse?: string;
  /** The allowed query parameters. Absent: any for GET, none for a change. */
  readonly query?: readonly (string | RegExp)[] | 'any';
  /** The allowed fields of the body. Absent: any. `json`: the body may be any JSON, not only an object. */
  readonly fields?: readonly string[] | 'json';
  /** The body is `{"<inside>": {…}}` and nothing else, and `fields` are those of the inner object. */
  readonly inside?: string;
}

/**
 * The calls of a REST API that agents may send. The first row that matches the method and the path of a call decides; a call without a row is refused. What a table
 * cannot say (the value of a field, the project of an issue) is checked by `prepare`.
 */
export interface RestTable<Rule extends RestRule = RestRule> {
  /** The name of the tool. */
  readonly tool: string;
  /** A path for refusals: "/issues/12/labels". */
  readonly example: string;
  readonly rules: readonly Rule[];
  /** The segments that rules name in braces. Anchor them: `/^(?:issues|labels)$/`. */
  readonly segments?: { readonly [name: string]: RegExp };
  /** Removes the parts of a path that rules leave out, such as `/repos/owner/name`. May throw `ToolRefusal`. */
  below?(segments: readonly string[]): readonly string[];
  /** Why a call without a row is refused. */
  refusal(method: string, segments: readonly string[]): string;
}

/** A call that the table allows. */
export interface RestCall<Rule extends RestRule = RestRule> {
  readonly method: RestMethod;
  /** Decoded, without what `below` removes. */
  readonly segments: readonly string[];
  /** With its `?`, or empty. */
  readonly query: string;
  /** Checked against `fields` and `inside`; `null`: there is none. */
  readonly body: unknown;
  readonly rule: Rule;
  /** The segments that the rule names in braces; of two with one name the last. */
  readonly named: { readonly [name: string]: string };
}

interface RestToolOptions<Rule extends RestRule> extends Pick<RawToolOptions, 'description' | 'mask' | 'stateOf'> {
  readonly table: RestTable<Rule>;
  /** Explains `path` in the input schema. */
  readonly pathHelp: string;
  readonly isReadOnly: boolean;
  /** Checks what the table cannot say, and returns the function that sends the call. Throws `ToolRefusal`. */
  prepare(call: RestCall<Rule>, signal: AbortSignal): RawCall['send'] | Promise<RawCall['send']>;
}

/**
 * A raw tool for a REST API: its input is `{method, path, body}`, its write rules are a `RestTable`.
 *
 *     restTool({
 *       table: {
 *         tool: 'x_api',
 *         example: '/issues/12',
 *         rules: [
 *           { call: 'GET issues/{number}/links', refuse: 'Links may show issues of other projects.' },
 *           { call: 'GET {list}/**' },
 *           { call: 'PUT issues/{number}', fields: ['title', 'labels'] },
 *         ],
 *         segments: { list: /^(?:issues|labels)$/ },
 *         refusal: (method, segments) => `${method} /${segments.join('/')} is left to people.`,
 *       },
 *       prepare: ({ method, segments, query, body, named }) => async () => …,
 *       …
 *     })
 */
export function restTool<Rule extends RestRule>(options: RestToolOptions<Rule>): HostTool {
  const { table, description, pathHelp, isReadOnly, mask, stateOf } = options;
  const methods = isReadOnly ? METHODS.slice(0, 1) : METHODS.filter((method) => isInTable(method, table));
  return rawTool({
    ...{ name: table.tool, description, mask, stateOf },
    inputSchema: {
      type: 'object',
      properties: {
        method: { type: 'string', enum: methods },
        path: { type: 'string', description: pathHelp },
        ...(isReadOnly ? {} : { body: { ...bodyType(table), description: 'Sent as JSON.' } }),
      },
      required: ['method', 'path'],
      additionalProperties: false,
    },
    async plan(input, signal) {
      const call = allowedCall(input, methods, table);
      return { isChange: call.method !== 'GET', send: await options.prepare(call, signal) };
    },
  });
}

function isInTable(method: RestMethod, { rules }: RestTable): boolean {
  return rules.some(({ call, refuse }) => refuse === undefined && call.split(' ').includes(method));
}

function bodyType({ rules }: RestTable): { readonly type?: string } {
  return rules.some(({ fields }) => fields === 'json') ? {} : { type: 'object' };
}

/** The call that an agent wrote. Throws `ToolRefusal` for every call that the table does not allow. */
function allowedCall<Rule extends RestRule>(
  input: Fields,
  methods: readonly RestMethod[],
  table: RestTable<Rule>,
): RestCall<Rule> {
  const { method: given, path, body = null, ...others } = input;
  const [other] = Object.keys(others);
  if (other !== undefined)
    throw new ToolRefusal(`${table.tool} takes method, path and body, not ${other.slice(0, 100)}.`);
  const method = methods.find((each) => each === given);
  if (method === undefined) throw new ToolRefusal(`method must be one of: ${methods.join(', ')}.`);
  if (typeof path !== 'string') throw new ToolRefusal(`path must be a text such as ${table.example}.`);
  const parsed = parseRestPath(path);
  if (typeof parsed === 'string') throw new ToolRefusal(`${parsed}: write for instance ${table.example}.`);
  const { query } = parsed;
  const segments = table.below?.(parsed.segments) ?? parsed.segments;
  const match = firstMatch(method, segments, table);
  if (match === null) throw new ToolRefusal(table.refusal(method, segments));
  if (match.rule.refuse !== undefined) throw new ToolRefusal(match.rule.refuse);
  const where = `${method} /${segments.join('/').slice(0, 200)}`;
  checkQuery(method, query, match.rule, where);
  if (method === 'GET' && body !== null) throw new ToolRefusal('GET takes no body.');
  if (method !== 'GET') checkBody(body, match.rule, where);
  return { method, segments, query, body, ...match };
}

function firstMatch<Rule extends RestRule>(
  method: RestMethod,
  segments: readonly string[],
  table: RestTable<Rule>,
): Pick<RestCall<Rule>, 'rule' | 'named'> | null {
  for (const rule of table.rules) {
    const words = rule.call.split(' ');
    const path = words.pop() ?? '';
    const named = words.includes(method) ? matchPath(path.split('/'), segments, table) : null;
    if (named !== null) return { rule, named };
  }
  return null;
}

/** The named segments of a path that matches; `null`: it does not. */
function matchPath(
  pattern: readonly string[],
  segments: readonly string[],
  table: RestTable,
): RestCall['named'] | null {
  const isOpen = pattern.at(-1) === '**';
  const fixed = isOpen ? pattern.slice(0, -1) : pattern;
  if (isOpen ? segments.length < fixed.length : segments.length !== fixed.length) return null;
  const named: { [name: string]: string } = {};
  for (const [n, part] of fixed.entries()) {
    const segment = segments[n] ?? '';
    const name = /^\{(\w+)\}$/.exec(part)?.[1];
    if (name === undefined ? part !== segment : !segmentPattern(name, table).test(segment)) return null;
    if (name !== undefined) named[name] = segment;
  }
  return named;
}

function segmentPattern(name: string, { tool, segments = {} }: RestTable): RegExp {
  const pattern = name === 'number' ? /^\d+$/ : name === 'any' ? /^/ : segments[name];
  if (pattern === undefined) throw new BatonError('internal_error', `The table of ${tool} has no segment {${name}}.`);
  return pattern;
}

function checkQuery(method: RestMethod, query: string, { query: names }: RestRule, where: string): void {
  if (query === '' || names === 'any' || (names === undefined && method === 'GET')) return;
  // Servers may read fields from the query, where the rules for bodies do not reach.
  if (names === undefined) throw new ToolRefusal('Write what is to be changed into body, not into the path.');
  const isAllowed = (name: string) =>
    names.some((each) => (typeof each === 'string' ? each === name : each.test(name)));
  const other = [...new URLSearchParams(query).keys()].find((name) => !isAllowed(name));
  if (other === undefined) return;
  const takes = names.filter((name) => typeof name === 'string').join(', ') || 'nothing';
  throw new ToolRefusal(`The query of ${where} may hold ${takes}, not ${JSON.stringify(other.slice(0, 100))}.`);
}

function checkBody(body: unknown, { fields, inside }: RestRule, where: string): void {
  if (fields === 'json') return;
  if (body !== null && (typeof body !== 'object' || Array.isArray(body)))
    throw new ToolRefusal('body must be an object.');
  const outer = fieldsOf(body);
  const inner = inside === undefined ? body : outer[inside];
  if (inside !== undefined && (!isObject(inner) || Object.keys(outer).length !== 1))
    throw new ToolRefusal(`The body of ${where} must be {"${inside}": {…}} and nothing else.`);
  if (fields === undefined) return;
  const other = Object.keys(fieldsOf(inner)).find((name) => !fields.includes(name));
  if (other === undefined) return;
  const takes = fields.join(', ') || 'nothing';
  throw new ToolRefusal(`The body of ${where} may hold ${takes}, not ${other.slice(0, 100)}.`);
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A path of a REST API that an agent wrote: decoded segments, and the query as written. */
interface RestPath {
  readonly segments: readonly string[];
  /** With its `?`, or empty. */
  readonly query: string;
}

/** The path, or the problem with it. Refuses every path that another parser could resolve outside the scope. */
export function parseRestPath(written: string): RestPath | string {
  if (!written.startsWith('/') || written.startsWith('//')) return 'path must begin with one slash';
  if (written.length > 2_000) return 'path is too long';
  // Half of a surrogate pair cannot be encoded: it would be replaced on its way.
  if (/\p{Cs}/u.test(written)) return 'path holds half a character';
  const at = written.indexOf('?');
  const path = at === -1 ? written : written.slice(0, at);
  const query = at === -1 ? '' : written.slice(at);
  if (/[\\#\s\p{Cc}]/u.test(path) || /[#\s\p{Cc}]/u.test(query)) return 'path holds characters that no path has';
  const segments: string[] = [];
  for (const part of path.slice(1).split('/')) {
    const segment = decoded(part);
    if (segment === null) return `path holds the part ${JSON.stringify(part)}, which is no valid part of a path`;
    segments.push(segment);
  }
  // One slash at the end means nothing.
  if (segments.at(-1) === '') segments.pop();
  // A server that decodes %2F before it resolves dots would leave the scope by `a%2F..%2F..`.
  if (segments.some((segment) => segment === '' || segment.split('/').some((part) => part === '.' || part === '..')))
    return 'path holds empty parts or dots';
  return { segments, query };
}

export function writeRestPath(segments: readonly string[]): string {
  return segments.map((segment) => `/${encodeURIComponent(segment)}`).join('');
}

function decoded(part: string): string | null {
  try {
    const once = decodeURIComponent(part);
    // A part that is encoded twice means something else to a server that decodes twice.
    return /%[0-9a-f]{2}/i.test(once) || /[\\\p{Cc}]/u.test(once) ? null : once;
  } catch {
    return null;
  }
}
