import { type Fields, textOf } from '../../../src/domain/fields.js';
import { NOTICES, REQUESTS } from './protocol.js';

/**
 * Which messages show that the agent gets on with its work. Heartbeats, counters and "reconnecting" notices do not: they
 * must never mask a stall.
 */
const PROGRESS_PREFIXES = ['turn/', 'item/', 'rawResponse', 'command/exec/', 'process/', 'hook/', 'serverRequest/'];

/** About a turn by their turn id, yet no sign of work. */
const NEVER_PROGRESS: ReadonlySet<string> = new Set([
  NOTICES.tokenUsage,
  NOTICES.rateLimits,
  'warning',
  'guardianWarning',
  'configWarning',
  'deprecationNotice',
  'thread/status/changed',
  'model/rerouted',
  'model/verification',
  'modelProvider/authRecoveryStarted',
  'modelProvider/authRecoveryCompleted',
]);

const KNOWN_REQUESTS: ReadonlySet<string> = new Set(Object.values(REQUESTS));

export function isProgress(method: string, params: Fields): boolean {
  if (NEVER_PROGRESS.has(method)) return false;
  if (isRetryNotice(method, params)) return false;
  if (PROGRESS_PREFIXES.some((prefix) => method.startsWith(prefix))) return true;
  // A notification of a newer agent counts when it speaks of a turn.
  return textOf(params.turnId) !== null;
}

/** Every approval, question and tool call is progress; a request we do not know is not. */
export function isKnownRequest(method: string): boolean {
  return KNOWN_REQUESTS.has(method);
}

/** The agent lost its model service and tries again. */
export function isRetryNotice(method: string, params: Fields): boolean {
  return method === NOTICES.error && params.willRetry === true;
}
