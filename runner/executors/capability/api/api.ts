import type { CapabilityModule } from '../../../../src/domain/config.js';
import { BatonError } from '../../../../src/domain/errors.js';
import { type Fields, fieldsOf, type Json, type JsonObject } from '../../../../src/domain/json.js';
import type { ContainedProcess } from '../../../contain/process.js';
import type { StepContext } from '../../executor.js';

/** The execution that makes a call. */
export interface ApiSession {
  readonly executionId: string;
  readonly context: StepContext;
  /** Aborted when the execution is over. Open calls end soon after. */
  readonly signal: AbortSignal;
  readonly executions: ExecutionApi;
  /** Its shell commands that run or are being started. */
  readonly commands: Set<Promise<ContainedProcess>>;
  /** Writes to the log, once for each text: what the executor asked for and did not get. */
  report(problem: string): void;
  /** Its last search. Searches run one after the other, because each is a process. Never rejects. */
  readonly searches: { last: Promise<unknown> };
}

/** The executions that an execution may start and watch. */
export interface ExecutionApi {
  startCapability(order: ChildCapabilityOrder): Promise<JsonObject>;
  /** By the name of an executor, or by its folder. */
  startExecutor(order: ChildOrder & { readonly name: string }): Promise<JsonObject>;
  startCode(order: ChildOrder & { readonly code: string }): Promise<JsonObject>;
  /** Stops an execution that this execution started itself. */
  stop(executionId: string): Promise<JsonObject>;
  status(executionId: string): JsonObject;
  active(): Json;
  list(filter: CapabilityFilter): Promise<Json>;
  /** Without a type, the first capability of this name. */
  detail(name: string, type: string | null): Promise<JsonObject>;
  executors(): Promise<Json>;
}

export interface CapabilityFilter {
  readonly type: string | null;
  /** At least one of them. */
  readonly tags: readonly string[] | null;
  readonly author: string | null;
}

export interface ChildOrder {
  readonly params: JsonObject;
  readonly timeoutMs: number | null;
  /** Answer at the end of the execution; otherwise answer with its id at once. */
  readonly wait: boolean;
}

export interface ChildCapabilityOrder extends ChildOrder {
  readonly type: string;
  readonly name: string;
}

/** The members of the result become members of the answer. Throws an error with a message for the executor. */
export type ApiAction = (request: ApiRequest, session: ApiSession) => Promise<JsonObject>;

export interface ApiRequest {
  /** The members of `message`, or of the request itself when it has no `message`. */
  readonly fields: Fields;
  /** `message`, when it is text. */
  readonly text: string | null;
}

export interface ApiModule {
  readonly module: CapabilityModule;
  /** The `type` of requests that name their action in `action`. */
  readonly types: readonly string[];
  /** By action. An action name is also accepted as `type`, which is how terminal and chat are called. */
  readonly actions: { readonly [action: string]: ApiAction };
  /** The arguments of each action. Others are reported and ignored. */
  readonly takes: { readonly [action: string]: readonly string[] };
  /** Other names of actions on the wire. */
  readonly aliases?: { readonly [action: string]: string };
  /** The `type` of an answer that is not `<action>Response`. */
  readonly answers?: { readonly [action: string]: string };
}

export function badRequest(message: string): BatonError {
  return new BatonError('INVALID_REQUEST', message);
}

/** The first of these members that is a text. Throws when there is none. */
export function requiredText({ fields }: ApiRequest, ...names: readonly string[]): string {
  const text = optionalText(fields, ...names);
  if (text === null) throw badRequest(`${names[0]} is missing`);
  return text;
}

export function optionalText(fields: ApiRequest['fields'], ...names: readonly string[]): string | null {
  const text = names.map((name) => fields[name]).find((value) => typeof value === 'string' && value !== '');
  return typeof text === 'string' ? text : null;
}

/** The members that all orders have in common. Throws. */
export function childOrder({ fields }: ApiRequest): ChildOrder {
  const { params = {}, timeout = null, wait = true } = fields;
  if (params !== null && fieldsOf(params) !== params) throw badRequest('params must be an object');
  const isTime = typeof timeout === 'number' && Number.isFinite(timeout) && timeout > 0;
  if (timeout !== null && !isTime) throw badRequest('timeout must be a number of milliseconds above 0');
  // Node.js fires a timer beyond this limit at once.
  const timeoutMs = isTime ? Math.min(timeout, 2 ** 31 - 1) : null;
  return { params: (params ?? {}) as JsonObject, timeoutMs, wait: wait !== false };
}
