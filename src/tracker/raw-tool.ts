import { BatonError } from '../domain/errors.js';
import { type Fields, fieldsOf } from '../domain/fields.js';
import { stateKey } from '../domain/issue.js';
import type { JsonObject } from '../domain/json.js';
import type { HostTool, HostToolResult } from '../domain/ports.js';
import { END_YOUR_TURN, limitIn } from './update-issue.js';

const TIME_LIMIT_MS = 60_000;
const MAX_INPUT_CHARS = 200_000;
const MAX_RESULT_CHARS = 100_000;
/** What is much longer than an agent will be told need not be read at all: looking for secrets in it would hold everything else up. */
export const MAX_ANSWER_BYTES = 4 * 1024 * 1024;

export interface RawToolOptions {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: JsonObject;
  /** Takes every known secret out of a text. */
  mask(text: string): string;
  /** Throws `ToolRefusal` for a call that is not allowed, `BatonError` for what the tracker would not do. */
  call(input: Fields, signal: AbortSignal): Promise<RawResult>;
  /** The state of an issue now, to tell whether a change has moved it; `null`: not known. */
  stateOf(issueId: string, signal: AbortSignal): Promise<string | null>;
}

export interface RawResult {
  /** The tracker took it. */
  readonly ok: boolean;
  /** It may have changed something. */
  readonly isChange: boolean;
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
  return {
    name,
    description,
    inputSchema,
    async call(input, { issue }) {
      if (typeof input !== 'object' || input === null || Array.isArray(input)) {
        return failed('invalid_input', `${name} takes an object.`);
      }
      if (JSON.stringify(input).length > MAX_INPUT_CHARS) {
        return failed('invalid_input', `The input has more than ${MAX_INPUT_CHARS} characters.`);
      }
      const signal = AbortSignal.timeout(TIME_LIMIT_MS);
      try {
        const { ok, isChange, body, status } = await options.call(fieldsOf(input), signal);
        const told = answer(ok, status === undefined ? (body ?? null) : { status, body: body ?? null });
        if (!isChange) return told;
        const moved = await movedTo(issue.id, issue.state, options, signal);
        return moved === null ? told : { ...told, movedTo: moved };
      } catch (error) {
        if (error instanceof ToolRefusal) return failed('refused', error.message);
        const limitedUntilMs = limitIn(error);
        if (error instanceof BatonError && limitedUntilMs !== null) {
          return { ...failed(error.code, `${error.message} ${END_YOUR_TURN}`), limitedUntilMs };
        }
        if (error instanceof BatonError) return failed(error.code, error.message);
        // What is nested deeper than can be written down again.
        if (error instanceof RangeError)
          return failed('tracker_response', 'The answer cannot be told: it is too deep.');
        throw error;
      }
    },
  };
}

/** A run whose own tool moved its issue may end its turn; so it must be known that the tool did it. */
async function movedTo(
  issueId: string,
  before: string,
  { stateOf }: RawToolOptions,
  signal: AbortSignal,
): Promise<string | null> {
  // What the agent asked for is done: that it cannot be read again is for the next poll to find.
  const now = await stateOf(issueId, signal).catch(() => null);
  return now !== null && stateKey(now) !== stateKey(before) ? now : null;
}

function fitted(json: string): string {
  if (json.length <= MAX_RESULT_CHARS) return json;
  const advice = 'The answer was too long and is cut. Ask for fewer fields, or for a smaller page.';
  return JSON.stringify({ truncated: true, advice, body: json.slice(0, MAX_RESULT_CHARS / 2) });
}
