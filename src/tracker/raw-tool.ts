import { BatonError } from '../domain/errors.js';
import { stateKey } from '../domain/issue.js';
import { type Fields, fieldsOf, type JsonObject } from '../domain/json.js';
import type { HostTool, HostToolResult } from '../domain/ports.js';
import { END_YOUR_TURN, limitIn } from './update-issue.js';

const TIME_LIMIT_MS = 60_000;
/** For the look at the issue before a change: it must not use up the time of the change. */
const LOOK_LIMIT_MS = 10_000;
const MAX_INPUT_CHARS = 200_000;
const MAX_RESULT_CHARS = 100_000;
/** What is much longer than an agent will be told need not be read at all: looking for secrets in it would hold everything else up. */
export const MAX_ANSWER_BYTES = 4 * 1024 * 1024;

interface RawToolOptions {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: JsonObject;
  /** Takes every known secret out of a text. */
  mask(text: string): string;
  /** What may be sent. Throws `ToolRefusal` for a call that is not allowed, as sending it may `BatonError` for what the tracker would not do. */
  plan(input: Fields, signal: AbortSignal): RawCall | Promise<RawCall>;
  /** The state of an issue now, to tell whether a change has moved it; `null`: not known. */
  stateOf(issueId: string, signal: AbortSignal): Promise<string | null>;
}

/** A call that is allowed, and not yet sent. */
export interface RawCall {
  /** It may change something. */
  readonly isChange: boolean;
  send(): Promise<RawResult>;
}

export interface RawResult {
  /** The tracker took it. */
  readonly ok: boolean;
  /** What the tracker answered. */
  readonly body: unknown;
  readonly status?: number;
}

/** A sentence for the agent: what it may not do, and what it may. */
export class ToolRefusal extends Error {}

/**
 * A tool that hands an agent's own request to the tracker, on the host and with the host's token. Failures are JSON, too:
 * `{"error": {"code", "message"}}`; so is what is too long: `{"truncated": true, "body": "…"}`.
 */
export function rawTool(options: RawToolOptions): HostTool {
  const { name, description, inputSchema, mask } = options;
  const answer = (success: boolean, value: unknown): HostToolResult => ({
    success,
    text: fitted(mask(JSON.stringify(value))),
  });
  const failed = (code: string, message: string) => answer(false, { error: { code, message } });
  const told = ({ ok, body = null, status }: RawResult) => {
    try {
      return answer(ok, status === undefined ? body : { status, body });
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      return failed('tracker_response', 'The answer cannot be told: it is too deep.');
    }
  };
  return {
    name,
    description,
    inputSchema,
    async call(input, { issue }) {
      if (typeof input !== 'object' || input === null || Array.isArray(input)) {
        return failed('invalid_input', `${name} takes an object.`);
      }
      const signal = AbortSignal.timeout(TIME_LIMIT_MS);
      try {
        if (JSON.stringify(input).length > MAX_INPUT_CHARS) {
          return failed('invalid_input', `The input has more than ${MAX_INPUT_CHARS} characters.`);
        }
        const { isChange, send } = await options.plan(fieldsOf(input), signal);
        if (!isChange) return told(await send());
        const { result, movedTo } = await watched(issue.id, send, options, signal);
        return movedTo === null ? told(result) : { ...told(result), movedTo };
      } catch (error) {
        if (error instanceof ToolRefusal) return failed('refused', error.message);
        const limitedUntilMs = limitIn(error);
        if (error instanceof BatonError && limitedUntilMs !== null) {
          return { ...failed(error.code, `${error.message} ${END_YOUR_TURN}`), limitedUntilMs };
        }
        if (error instanceof BatonError) return failed(error.code, error.message);
        if (error instanceof RangeError) return failed('invalid_input', 'The input is nested too deeply to be sent.');
        throw error;
      }
    },
  };
}

interface Watched {
  readonly result: RawResult;
  readonly movedTo: string | null;
}

/**
 * Makes a change, and tells where it has moved the run's own issue: a run whose own tool did that may end its turn. The issue is looked at before and
 * after, since a person may have moved it while nobody looked. What cannot be looked at is changed all the same, and the next poll finds where it is.
 */
async function watched(
  issueId: string,
  send: RawCall['send'],
  { stateOf }: RawToolOptions,
  signal: AbortSignal,
): Promise<Watched> {
  const look = (until: AbortSignal) => stateOf(issueId, until).catch(() => null);
  const before = await look(AbortSignal.any([signal, AbortSignal.timeout(LOOK_LIMIT_MS)]));
  const result = await send();
  const after = before === null ? null : await look(signal);
  const isMoved = before !== null && after !== null && stateKey(before) !== stateKey(after);
  return { result, movedTo: isMoved ? after : null };
}

function fitted(json: string): string {
  if (json.length <= MAX_RESULT_CHARS) return json;
  const advice = 'The answer was too long and is cut. Ask for fewer fields, or for a smaller page.';
  return JSON.stringify({ truncated: true, advice, body: json.slice(0, MAX_RESULT_CHARS / 2) });
}

/** A path of a REST API that an agent wrote, taken apart: decoded segments, and the query as written. */
interface RestPath {
  readonly segments: readonly string[];
  /** With its `?`, or empty. */
  readonly query: string;
}

/** The path, or what is wrong with it. Whatever could lead out of a scope when somebody else reads it is refused. */
export function parseRestPath(written: string): RestPath | string {
  if (!written.startsWith('/') || written.startsWith('//')) return 'path must begin with one slash';
  if (written.length > 2_000) return 'path is too long';
  // It cannot be encoded, and would be replaced by something else on its way.
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
  if (segments.some((segment) => segment === '' || segment === '.' || segment === '..'))
    return 'path holds empty parts or dots';
  return { segments, query };
}

export function writeRestPath(segments: readonly string[]): string {
  return segments.map((segment) => `/${encodeURIComponent(segment)}`).join('');
}

function decoded(part: string): string | null {
  try {
    const once = decodeURIComponent(part);
    // Encoded twice, it would mean something else to whoever decodes it once more.
    return /%[0-9a-f]{2}/i.test(once) || /[\\\p{Cc}]/u.test(once) ? null : once;
  } catch {
    return null;
  }
}
