import { isUtf8 } from 'node:buffer';
import { isNestedTooDeep } from '../bounded-json.js';

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
