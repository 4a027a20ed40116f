import type { CapabilityModule } from '../../../../src/domain/config.js';
import { BatonError } from '../../../../src/domain/errors.js';
import { type Fields, fieldsOf, type Json, type JsonObject } from '../../../../src/domain/json.js';
import type { ContainedProcess } from '../../../contain/process.js';
import type { StepContext } from '../../executor.js';

/** One execution, as the calls of its child see it. */
export interface ApiSession {
  readonly executionId: string;
  readonly context: StepContext;
  /** Aborted when the execution is over: calls that are under way end soon after. */
  readonly signal: AbortSignal;
  readonly nested: NestedExecutions;
  /** Its shell commands that run, or are about to. */
  readonly commands: Set<Promise<ContainedProcess>>;
  /** Its searches: one at a time, as each is a process. Never rejects. */
  readonly searches: { last: Promise<unknown> };
}

/** What an execution may start, and what it may know of it. */
export interface NestedExecutions {
  startCapability(order: NestedCapability): Promise<JsonObject>;
  /** By the name of an executor. */
  startExecutor(order: NestedSide & { readonly name: string }): Promise<JsonObject>;
  startCode(order: NestedSide & { readonly code: string }): Promise<JsonObject>;
  /** Only what this execution started itself. */
  stop(executionId: string): Promise<JsonObject>;
  status(executionId: string): JsonObject;
  active(): Json;
  list(type: string | null): Promise<Json>;
}

export interface NestedSide {
  readonly params: JsonObject;
  readonly timeoutMs: number | null;
  /** Answer when it has ended, else as soon as it is known by its id. */
  readonly wait: boolean;
}

export interface NestedCapability extends NestedSide {
  readonly type: string;
  readonly name: string;
}

/** Throws an error with a message for the executor. The members of what it gives become members of the answer. */
export type ApiAction = (request: ApiRequest, session: ApiSession) => Promise<JsonObject>;

export interface ApiRequest {
  /** Members of `message`, or of the request itself where it has none. */
  readonly fields: Fields;
  /** `message` where it is text. */
  readonly text: string | null;
}

export interface ApiModule {
  readonly module: CapabilityModule;
  /** `type` of requests that name their action in `action`. */
  readonly types: readonly string[];
  /** By action; the same names are understood as `type`, which is how terminal and chat are called. */
  readonly actions: { readonly [action: string]: ApiAction };
  /** Other names of actions on the wire, and the `type` of an answer where it is not `<action>Response`. */
  readonly aliases?: { readonly [action: string]: string };
  readonly answers?: { readonly [action: string]: string };
}

export function badRequest(message: string): BatonError {
  return new BatonError('INVALID_REQUEST', message);
}

/** The first of these members that is text. Throws. */
export function requiredText({ fields }: ApiRequest, ...names: readonly string[]): string {
  const text = optionalText(fields, ...names);
  if (text === null) throw badRequest(`${names[0]} is missing`);
  return text;
}

export function optionalText(fields: ApiRequest['fields'], ...names: readonly string[]): string | null {
  const found = names.map((name) => fields[name]).find((value) => typeof value === 'string' && value !== '');
  return typeof found === 'string' ? found : null;
}

/** What all starts have in common. Throws. */
export function nestedOrder({ fields }: ApiRequest): NestedSide {
  const { params = {}, timeout = null, wait = true } = fields;
  if (params !== null && fieldsOf(params) !== params) throw badRequest('params must be an object');
  const isTime = typeof timeout === 'number' && Number.isFinite(timeout) && timeout > 0;
  if (timeout !== null && !isTime) throw badRequest('timeout must be a number of milliseconds above 0');
  // Node.js runs a longer timer at once.
  const timeoutMs = isTime ? Math.min(timeout, 2 ** 31 - 1) : null;
  return { params: (params ?? {}) as JsonObject, timeoutMs, wait: wait !== false };
}
