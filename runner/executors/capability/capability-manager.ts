import { fileURLToPath, pathToFileURL } from 'node:url';
import type { Capability, CapabilityIndex, CapabilityInput } from '../../../src/domain/capabilities.js';
import { BatonError, toBatonError } from '../../../src/domain/errors.js';
import { assertNever, fieldsOf, type Json, type JsonObject, textOf } from '../../../src/domain/json.js';
import { type AbortReason, cancelled, failure, failureOf, type Outcome, success } from '../../../src/domain/outcome.js';
import type { CapabilityAction } from '../../../src/domain/steps/plan.js';
import type { Executor, StepContext } from '../executor.js';
import { type ExecutionBook, ExecutionEngine, executionId } from './execution-engine.js';
import type { SideEnd } from './side-execution.js';

const CLIENT = fileURLToPath(new URL('client/baton-capability.mjs', import.meta.url));

interface CapabilityManagerOptions {
  /** Never rejects. */
  discover(projectDir: string): Promise<CapabilityIndex>;
  /** Module that executors import to talk to us. */
  readonly clientPath?: string;
}

/** How a capability ended, and the id that it has in transcript and stats. */
type CapabilityEnd = SideEnd & { readonly executionId: string };

/** Capabilities for everybody: the step executor, the commands, the API. One per daemon. */
export class CapabilityManager {
  readonly #engine: ExecutionEngine;
  readonly #indexes = new Map<string, Promise<CapabilityIndex>>();

  constructor(private readonly options: CapabilityManagerOptions) {
    this.#engine = new ExecutionEngine(importable(options.clientPath ?? CLIENT), (context) => this.#indexFor(context));
  }

  /** capabilityStarted, capabilityCompleted, capabilityFailed, capabilityTimeout. */
  get events(): ExecutionBook['events'] {
    return this.#engine.book.events;
  }

  /** What is known of a project; looks for it the first time. */
  index(projectDir: string): Promise<CapabilityIndex> {
    return this.#indexes.get(projectDir) ?? this.refresh(projectDir);
  }

  refresh(projectDir: string): Promise<CapabilityIndex> {
    const found = this.options.discover(projectDir);
    this.#indexes.set(projectDir, found);
    return found;
  }

  /** Runs a capability for a step, to its end. Never rejects. */
  async startCapability(order: CapabilityOrder, context: StepContext): Promise<CapabilityEnd> {
    const id = executionId('cap', context.clock.now().wallMs);
    const { signal } = context;
    const place = { context, signal, depth: 1, parentId: null, tree: { running: 0 } };
    return { ...(await this.#engine.startCapability(id, order, place)), executionId: id };
  }

  stats(): JsonObject {
    return this.#engine.book.stats();
  }

  /** `null`: unknown, or ended too long ago. */
  getExecutionStatus(id: string): JsonObject | null {
    return this.#engine.book.find(id);
  }

  getActiveExecutions(): readonly JsonObject[] {
    return this.#engine.book.active();
  }

  /** Stops all that runs; nothing starts any more. */
  close(): Promise<void> {
    return this.#engine.close();
  }

  /** Each run looks once, so that what was added or removed since the last one counts. */
  #indexFor(context: StepContext): Promise<CapabilityIndex> {
    return context.resources.get('capability_index', () => this.refresh(context.workflow.dir));
  }
}

/** A path that `import()` takes as it is; some characters mean something else in an address. */
function importable(path: string): string {
  return /[%?#\\]/.test(path) ? pathToFileURL(path).href : path;
}

export interface SideOrder {
  readonly params: JsonObject;
  /** `null`: none of its own. */
  readonly timeoutMs: number | null;
}

export interface CapabilityOrder extends SideOrder {
  readonly type: string;
  readonly name: string;
}

/** Throws `INVALID_REQUEST`. Pure. */
export function checkOrder({ type, name, params, timeoutMs }: CapabilityOrder): void {
  const invalid = (what: string) => new BatonError('INVALID_REQUEST', `a capability is started with ${what}`);
  if (textOf(type) === null || textOf(name) === null) throw invalid('a type and a name');
  if (fieldsOf(params) !== params) throw invalid('params that are an object');
  if (timeoutMs !== null && !(Number.isFinite(timeoutMs) && timeoutMs > 0)) throw invalid('a timeout above 0');
}

/**
 * What an executor is called with: the caller's parameters, defaults where there are none, and ours, which nobody can replace.
 * Parameters that capability.yaml does not name pass through. Throws `INVALID_REQUEST`. Pure.
 */
export function capabilityParams(capability: Capability, given: JsonObject, executionId: string): JsonObject {
  const filled = new Map(Object.entries(given));
  for (const input of capability.inputs) {
    const value = given[input.name] ?? input.default;
    if (value === undefined || value === null) {
      if (input.required) throw refused(capability, `needs ${input.name}, which is missing`);
    } else if (!suits(value, input)) {
      throw refused(capability, `needs ${input.name} as ${input.type}, not as ${kindOf(value)}`);
    } else {
      filled.set(input.name, value);
    }
  }
  return {
    // Not by assignment: a parameter named __proto__ must stay a plain one.
    ...Object.fromEntries(filled),
    capabilityPath: capability.dir,
    capabilityName: capability.name,
    capabilityType: capability.type,
    capabilityConfig: capability.config,
    executionId,
  };
}

function refused({ type, name }: Capability, what: string): BatonError {
  return new BatonError('INVALID_REQUEST', `the ${type} ${name} ${what}`, { type, name });
}

/** Types that we do not know are the executor's business. */
function suits(value: Json, { type }: CapabilityInput): boolean {
  if (type === 'integer') return Number.isInteger(value);
  return KINDS.has(type) ? kindOf(value) === type : true;
}

const KINDS = new Set(['string', 'number', 'boolean', 'array', 'object']);

function kindOf(value: Json): string {
  return Array.isArray(value) ? 'array' : typeof value;
}

/** Runs steps of `kind: capability`. */
export function createCapabilityExecutor(manager: CapabilityManager): Executor<CapabilityAction> {
  return {
    async execute({ type, name, params }, context) {
      try {
        const end = await manager.startCapability({ type, name, params, timeoutMs: null }, context);
        return outcomeOf(end, `${type} ${name}`, context);
      } catch (error) {
        return failureOf(toBatonError(error));
      }
    },
  };
}

function outcomeOf(end: CapabilityEnd, what: string, { signal }: StepContext): Outcome {
  switch (end.state) {
    case 'completed':
      return success(end.result, end.additionalContext === undefined ? {} : { context: end.additionalContext });
    case 'failed':
      return failure(end.code, `${what}: ${end.message}`);
    case 'timeout':
    case 'stopped':
      // Only the step, its run or the end of the daemon can stop what a step started.
      return cancelled(signal.aborted ? (signal.reason as AbortReason) : 'shutdown');
    default:
      return assertNever(end);
  }
}
