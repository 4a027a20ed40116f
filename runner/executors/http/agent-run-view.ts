import { fieldsOf, textOf } from '../../../src/domain/fields.js';
import type { Json, JsonObject } from '../../../src/domain/json.js';
import { errorTextIn } from './error-text.js';
import type { Answer } from './service-client.js';
import { isServiceId } from './service-url.js';

/** What an answer says about a run of an agent, at its start or later. */
export type AgentRunView =
  | { readonly kind: 'ended'; readonly output: JsonObject }
  | { readonly kind: 'failed'; readonly state: string; readonly message: string | null }
  | { readonly kind: 'running'; readonly runId: string | null }
  | { readonly kind: 'unusable' };

export type AgentRunEnd = Exclude<AgentRunView, { readonly kind: 'running' }>;

const GOOD_ENDS = new Set(['completed', 'succeeded', 'success', 'done']);
const BAD_ENDS = new Set(['failed', 'error', 'cancelled', 'canceled', 'timeout', 'expired']);
const BAD_REASONS = new Set(['error', 'failed']);
const NO_END = new Set(['accepted', 'created', 'queued', 'pending', 'scheduled', 'starting', 'running', 'in_progress']);

/** The word of the service about the state counts most; without one an output is the end, and a run without output is not. */
export function viewOf({ status, body }: Answer): AgentRunView {
  const fields = fieldsOf(body);
  const written = textOf(fields.status) ?? textOf(fields.state);
  const state = written?.toLowerCase() ?? null;
  const reason = textOf(fields.stop_reason);
  const hasOutput = Object.hasOwn(fields, 'output');
  const failed = (why: string): AgentRunView => ({ kind: 'failed', state: why, message: errorTextIn(body) });

  if (state !== null && BAD_ENDS.has(state)) return failed(state);
  if (reason !== null && BAD_REASONS.has(reason.toLowerCase())) return failed(reason);
  if (state !== null && GOOD_ENDS.has(state)) return hasOutput ? ended(fields, reason) : { kind: 'unusable' };

  const runId = runIdOf(fields.run_id) ?? runIdOf(fields.id);
  const saysRunning = status === 202 || (state !== null && NO_END.has(state));
  // Whoever says a state that nobody knows, and shows nothing yet, has not ended.
  const showsNothing = !hasOutput || (state !== null && fields.output === null);
  if (!saysRunning && !showsNothing) return ended(fields, reason);
  return saysRunning || state !== null || runId !== null ? { kind: 'running', runId } : { kind: 'unusable' };
}

function ended(fields: { readonly [key: string]: unknown }, reason: string | null): AgentRunView {
  const steps = Array.isArray(fields.steps) ? { steps: fields.steps as Json } : {};
  return { kind: 'ended', output: { output: fields.output as Json, stop_reason: reason, ...steps } };
}

function runIdOf(value: unknown): string | null {
  const text = Number.isSafeInteger(value) ? String(value) : value;
  return isServiceId(text) ? text : null;
}
