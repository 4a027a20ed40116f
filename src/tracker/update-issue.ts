import type { TrackerConfig } from '../domain/config.js';
import { BatonError, toBatonError } from '../domain/errors.js';
import { isAbsent } from '../domain/json.js';
import type { HostTool, HostToolResult, IssueChange, Tracker } from '../domain/ports.js';

const NAME = 'update_issue';
/** Shorter than the limits of all trackers. */
const MAX_COMMENT_CHARS = 20_000;
/** Escapes of JSON included, so that a comment that is a little too long gets the clearer answer. */
const MAX_INPUT_CHARS = 50_000;
const TIME_LIMIT_MS = 60_000;

/**
 * The tool that every tracker has. It runs on the host with the host's token, and is bound to the issue of the run: an agent can change its own issue and nothing else.
 */
export function updateIssueTool(tracker: Tracker, { activeStates, terminalStates }: TrackerConfig): HostTool {
  const states = tracker.states.length > 0 ? tracker.states : [...activeStates, ...terminalStates];
  const changes = tracker.changes ?? ['state', 'comment'];
  const mayMove = changes.includes('state');
  const mayComment = changes.includes('comment');
  const state = { type: 'string', description: `One of: ${states.join(', ')}.` };
  const comment = { type: 'string', description: 'What was done, or what a person must know. Markdown.' };
  return {
    name: NAME,
    description: `${descriptionOf(mayMove, mayComment)} States: ${states.join(', ')}. Work is over once the issue is in another state than: ${activeStates.join(', ')}.`,
    inputSchema: {
      type: 'object',
      properties: { ...(mayMove ? { state } : {}), ...(mayComment ? { comment } : {}) },
      additionalProperties: false,
    },
    maxInputChars: MAX_INPUT_CHARS,
    async call(input, { issue }) {
      const change = parseChange(input);
      if (typeof change === 'string') return refused(change);
      try {
        const { state, doubt } = await tracker.update(issue.id, change, AbortSignal.timeout(TIME_LIMIT_MS));
        // Reporting an uncertain move is safe: the issue is read again before the move counts.
        if (doubt !== undefined)
          return { success: true, text: doubt, ...(change.state === undefined ? {} : { movedTo: state }) };
        const prefix = change.comment === undefined ? '' : 'Commented. ';
        if (change.state === undefined) return { success: true, text: `${prefix}The issue is in "${state}".` };
        return { success: true, text: `${prefix}The issue is now in "${state}".`, movedTo: state };
      } catch (error) {
        if (error instanceof BatonError && error.code === 'tracker_refused') return refused(error.message);
        const limitedUntilMs = limitIn(error);
        if (limitedUntilMs === null) throw error;
        return { ...refused(`${(error as BatonError).message} ${END_YOUR_TURN}`), limitedUntilMs };
      }
    },
  };
}

/** Added when the tracker refuses requests until a time: repeated calls cost turns and change nothing. */
export const END_YOUR_TURN = 'Do not try again: end your turn, and you will go on after that.';

/** When the rate limit of the tracker ends; `null`: the error is something else. */
export function limitIn(error: unknown): number | null {
  if (!(error instanceof BatonError) || error.code !== 'tracker_rate_limited') return null;
  const { resetAtMs } = error.details;
  return typeof resetAtMs === 'number' ? resetAtMs : Date.now();
}

function descriptionOf(mayMove: boolean, mayComment: boolean): string {
  if (mayMove && mayComment) return 'Move the issue you are working on to another state, comment on it, or both.';
  if (mayMove) return 'Move the issue you are working on to another state. This tracker takes no comments.';
  if (mayComment) return 'Comment on the issue you are working on. In this tracker only people move issues.';
  return 'Does nothing: in this tracker only people move issues and comment on them.';
}

/** The change, or the problem with the call as a text for the agent. */
function parseChange(input: unknown): IssueChange | string {
  if (typeof input !== 'object' || input === null || Array.isArray(input)) return `${NAME} takes an object.`;
  const { state, comment, ...rest } = input as { readonly [key: string]: unknown };
  const [extra] = Object.keys(rest);
  if (extra !== undefined) return `${NAME} takes state and comment, not ${extra.slice(0, 100)}.`;
  if (!isAbsent(state) && !isText(state)) return 'state must be a text that is not blank.';
  if (!isAbsent(comment) && !isText(comment)) return 'comment must be a text that is not blank.';
  if (isText(comment) && comment.length > MAX_COMMENT_CHARS)
    return `comment has ${comment.length} characters, ${MAX_COMMENT_CHARS} are allowed.`;
  const change = { ...(isText(state) ? { state: state.trim() } : {}), ...(isText(comment) ? { comment } : {}) };
  return Object.keys(change).length === 0 ? `${NAME} needs a state, a comment, or both.` : change;
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value.trim() !== '';
}

function refused(text: string): HostToolResult {
  return { success: false, text };
}

/** Moves an issue after a comment. The error of a failed move adds that the comment is written, so that the agent does not repeat it. Keeps the error code. */
export async function afterComment<Result>(comment: string | undefined, move: () => Promise<Result>): Promise<Result> {
  try {
    return await move();
  } catch (error) {
    if (comment === undefined) throw error;
    const { code, message, details } = toBatonError(error);
    const text = `The comment is written, do not repeat it; but the move failed. ${message}`;
    throw new BatonError(code, text, details, { cause: error });
  }
}
