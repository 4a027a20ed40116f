import { fileURLToPath, pathToFileURL } from 'node:url';
import type { CapabilityIndex } from '../../../src/domain/capabilities.js';
import { toBatonError } from '../../../src/domain/errors.js';
import { assertNever, type JsonObject } from '../../../src/domain/json.js';
import { type AbortReason, cancelled, failure, failureOf, type Outcome, success } from '../../../src/domain/outcome.js';
import type { CapabilityAction } from '../../../src/domain/steps/plan.js';
import type { Executor, StepContext } from '../executor.js';
import type { CapabilityOrder } from './capability-order.js';
import type { ExecutionEnd } from './execution-end.js';
import { ExecutionEngine } from './execution-engine.js';
import { type ExecutionRegistry, newExecutionId } from './execution-registry.js';

const CLIENT = fileURLToPath(new URL('client/baton-capability.mjs', import.meta.url));

interface CapabilityManagerOptions {
  /** Never rejects. */
  discover(projectDir: string): Promise<CapabilityIndex>;
  /** The module that executors import to talk to Baton. */
  readonly clientPath?: string;
}

/** The end of a capability, with its id in transcript and statistics. */
type CapabilityEnd = ExecutionEnd & { readonly executionId: string };

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

function outcomeOf(end: CapabilityEnd, capability: string, { signal }: StepContext): Outcome {
  switch (end.state) {
    case 'completed':
      return success(end.result, end.additionalContext === undefined ? {} : { context: end.additionalContext });
    case 'failed':
      return failure(end.code, `${capability}: ${end.message}`);
    case 'timeout':
    case 'stopped':
      // The execution of a step is stopped only by the step, its run or the shutdown of the daemon.
      return cancelled(signal.aborted ? (signal.reason as AbortReason) : 'shutdown');
    default:
      return assertNever(end);
  }
}

/** The capabilities of a daemon: for the step executor, the commands and the API. It keeps one index for each project folder. */
export class CapabilityManager {
  readonly #engine: ExecutionEngine;
  readonly #indexes = new Map<string, Promise<CapabilityIndex>>();

  constructor(private readonly options: CapabilityManagerOptions) {
    this.#engine = new ExecutionEngine(importable(options.clientPath ?? CLIENT), (context) => this.#indexFor(context));
  }

  /** capabilityStarted, capabilityCompleted, capabilityFailed, capabilityTimeout. */
  get events(): ExecutionRegistry['events'] {
    return this.#engine.registry.events;
  }

  /** The index of a project, discovered at the first call. */
  index(projectDir: string): Promise<CapabilityIndex> {
    return this.#indexes.get(projectDir) ?? this.refresh(projectDir);
  }

  refresh(projectDir: string): Promise<CapabilityIndex> {
    const index = this.options.discover(projectDir);
    this.#indexes.set(projectDir, index);
    return index;
  }

  /** Runs a capability for a step, to its end. Never rejects. */
  async startCapability(order: CapabilityOrder, context: StepContext): Promise<CapabilityEnd> {
    const id = newExecutionId('cap', context.clock.now().wallMs);
    const { signal } = context;
    const position = { context, signal, depth: 1, parentId: null, tree: { running: 0 } };
    return { ...(await this.#engine.startCapability(id, order, position)), executionId: id };
  }

  stats(): JsonObject {
    return this.#engine.registry.stats();
  }

  /** Returns `null` for an unknown execution, or one that ended too long ago. */
  getExecutionStatus(id: string): JsonObject | null {
    return this.#engine.registry.find(id);
  }

  getActiveExecutions(): readonly JsonObject[] {
    return this.#engine.registry.active();
  }

  /** Stops all executions. Nothing starts after that. */
  close(): Promise<void> {
    return this.#engine.close();
  }

  /** Each run discovers once, so that it uses what was added or removed since the last run. */
  #indexFor(context: StepContext): Promise<CapabilityIndex> {
    return context.resources.get('capability_index', () => this.refresh(context.workflow.dir));
  }
}

/** A path that `import()` accepts unchanged. Some characters have a meaning in a URL. */
function importable(path: string): string {
  return /[%?#\\]/.test(path) ? pathToFileURL(path).href : path;
}
