import { isUtf8 } from 'node:buffer';
import { type Fields, textOf } from '../../../src/domain/json.js';
import { isNestedTooDeep } from '../bounded-json.js';

/**
 * The part of the app-server protocol that Baton uses (shapes of `codex app-server generate-ts`, 0.166.0). Parameters of the agent
 * may be anything: read them with the functions of `src/domain/json.ts`.
 */
export const CALLS = {
  initialize: 'initialize',
  configRead: 'config/read',
  skillsList: 'skills/list',
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
  warning: 'warning',
  requestResolved: 'serverRequest/resolved',
  tokenUsage: 'thread/tokenUsage/updated',
  diff: 'turn/diff/updated',
  rateLimits: 'account/rateLimits/updated',
} as const;

export function textInput(text: string): readonly Fields[] {
  return [{ type: 'text', text, text_elements: [] }];
}

/** One parsed line of the agent. Everything that is unsafe for a JSON-RPC connection is `malformed`. */
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
  // `hasOwn`, because a result may be null.
  return Object.hasOwn(value, 'result') ? { kind: 'reply', id, body: { result } } : null;
}

function rpcErrorOf(error: object): RpcError {
  const { code, message } = error as { [key: string]: unknown };
  return {
    code: typeof code === 'number' ? code : 0,
    message: typeof message === 'string' && message !== '' ? message : 'no message',
  };
}

/** Any number or text is an id, 0 and "" included. */
function isRpcId(id: unknown): id is RpcId {
  return typeof id === 'string' || (typeof id === 'number' && Number.isFinite(id));
}

function isBlank(line: Buffer): boolean {
  return line.every((byte) => byte === 0x20 || byte === 0x09 || byte === 0x0d);
}

function sampleOf(line: Buffer): string {
  return line.subarray(0, SAMPLE_BYTES).toString('utf8');
}

const PROGRESS_PREFIXES = ['turn/', 'item/', 'rawResponse', 'command/exec/', 'process/', 'hook/', 'serverRequest/'];

/** These may name a turn but are not a sign of work. */
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

/** A piece of a text whose whole follows when its item ends. Nothing ever waits for one. */
export function isDelta(method: string): boolean {
  return method.endsWith('Delta') || method.endsWith('/delta');
}

const KNOWN_REQUESTS: ReadonlySet<string> = new Set(Object.values(REQUESTS));

/** True for messages that show work. Heartbeats, counters and "reconnecting" notices must never mask a stall. */
export function isProgress(method: string, params: Fields): boolean {
  if (NEVER_PROGRESS.has(method)) return false;
  if (isRetryNotice(method, params)) return false;
  if (PROGRESS_PREFIXES.some((prefix) => method.startsWith(prefix))) return true;
  // An unknown notification (of a newer agent) counts when it names a turn.
  return textOf(params.turnId) !== null;
}

/** Approvals, questions and tool calls. They count as progress; unknown requests do not. */
export function isKnownRequest(method: string): boolean {
  return KNOWN_REQUESTS.has(method);
}

/** The agent lost its connection to the model service and retries. */
export function isRetryNotice(method: string, params: Fields): boolean {
  return method === NOTICES.error && params.willRetry === true;
}
