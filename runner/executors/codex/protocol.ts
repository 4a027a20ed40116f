import { isUtf8 } from 'node:buffer';
import { type Fields, textOf } from '../../../src/domain/json.js';
import { isNestedTooDeep } from '../bounded-json.js';

/**
 * The part of the app-server protocol that we use (shapes of `codex app-server generate-ts`, 0.166.0). What the agent sends is
 * read through `src/domain/json.ts`: it may be anything.
 */
export const CALLS = {
  initialize: 'initialize',
  threadStart: 'thread/start',
  threadResume: 'thread/resume',
  threadName: 'thread/name/set',
  turnStart: 'turn/start',
  turnSteer: 'turn/steer',
  turnInterrupt: 'turn/interrupt',
} as const;

export const INITIALIZED = 'initialized';

export const REQUESTS = {
  commandApproval: 'item/commandExecution/requestApproval',
  fileApproval: 'item/fileChange/requestApproval',
  permissionsApproval: 'item/permissions/requestApproval',
  elicitation: 'mcpServer/elicitation/request',
  userInput: 'item/tool/requestUserInput',
  toolCall: 'item/tool/call',
} as const;

export const NOTICES = {
  turnStarted: 'turn/started',
  turnCompleted: 'turn/completed',
  itemStarted: 'item/started',
  itemCompleted: 'item/completed',
  error: 'error',
  requestResolved: 'serverRequest/resolved',
  tokenUsage: 'thread/tokenUsage/updated',
  diff: 'turn/diff/updated',
  rateLimits: 'account/rateLimits/updated',
} as const;

export function textInput(text: string): readonly Fields[] {
  return [{ type: 'text', text, text_elements: [] }];
}

/** One line of the agent, judged. Only what a JSON-RPC connection can safely be given is more than `malformed`. */
export type AgentLine =
  | { readonly kind: 'blank' }
  | { readonly kind: 'malformed'; readonly reason: string; readonly sample: string }
  | { readonly kind: 'request'; readonly id: RpcId; readonly method: string; readonly params: unknown }
  | { readonly kind: 'notification'; readonly method: string; readonly params: unknown }
  | { readonly kind: 'reply'; readonly id: RpcId; readonly body: ReplyBody };

export type RpcId = number | string;
type ReplyBody = { readonly result: unknown } | { readonly error: RpcError };

interface RpcError {
  readonly code: number;
  readonly message: string;
}

const SAMPLE_BYTES = 200;

export function parseMessage(line: Buffer): AgentLine {
  if (isBlank(line)) return { kind: 'blank' };
  const malformed = (reason: string): AgentLine => ({ kind: 'malformed', reason, sample: sampleOf(line) });
  if (!isUtf8(line)) return malformed('not valid UTF-8');
  if (isNestedTooDeep(line)) return malformed('nested too deep');
  let value: unknown;
  try {
    value = JSON.parse(line.toString('utf8'));
  } catch {
    return malformed('not valid JSON');
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return malformed('not a JSON object');
  return messageOf(value) ?? malformed('neither a request, a notification nor a reply');
}

function messageOf(value: object): AgentLine | null {
  const { id, method, params, result, error } = value as { [key: string]: unknown };
  if (typeof method === 'string') {
    if (id === undefined) return { kind: 'notification', method, params };
    return isRpcId(id) ? { kind: 'request', id, method, params } : null;
  }
  if (!isRpcId(id)) return null;
  if (typeof error === 'object' && error !== null) return { kind: 'reply', id, body: { error: rpcErrorOf(error) } };
  // `Object.hasOwn`: a result of null is a reply too.
  return Object.hasOwn(value, 'result') ? { kind: 'reply', id, body: { result } } : null;
}

function rpcErrorOf(error: object): RpcError {
  const { code, message } = error as { [key: string]: unknown };
  return {
    code: typeof code === 'number' ? code : 0,
    message: typeof message === 'string' && message !== '' ? message : 'no message',
  };
}

/** Ids start at 0, and "" is one too: only the type counts. */
function isRpcId(id: unknown): id is RpcId {
  return typeof id === 'string' || (typeof id === 'number' && Number.isFinite(id));
}

function isBlank(line: Buffer): boolean {
  return line.every((byte) => byte === 0x20 || byte === 0x09 || byte === 0x0d);
}

function sampleOf(line: Buffer): string {
  return line.subarray(0, SAMPLE_BYTES).toString('utf8');
}

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
