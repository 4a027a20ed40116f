import { BoundedMap } from '../../../src/domain/bounded-map.js';
import type { CapabilityIndex } from '../../../src/domain/capabilities.js';
import type { Json, JsonObject } from '../../../src/domain/json.js';
import type { StepContext } from '../executor.js';
import { badRequest, type ChildOrder, type ExecutionApi } from './api/api.js';
import type { CapabilityOrder, ExecutorOrder } from './capability-order.js';
import type { ExecutionEnd } from './execution-end.js';
import { type ExecutionRegistry, newExecutionId } from './execution-registry.js';

const MAX_DEPTH = 5;
const MAX_RUNNING_IN_TREE = 8;
/** Ends of executions that were started with `wait: false`. */
const MAX_ENDS = 20;

/** The position of an execution in the tree of executions of its step. */
export interface ExecutionPosition {
  readonly context: StepContext;
  /** Aborted when the execution must end. */
  readonly signal: AbortSignal;
  /** 1 for the execution that the step starts. */
  readonly depth: number;
  readonly parentId: string | null;
  /** Shared by the whole tree. */
  readonly tree: { running: number };
}

/** Starts executions. Its promises never reject. */
export interface ExecutionStarter {
  readonly registry: ExecutionRegistry;
  indexFor(context: StepContext): Promise<CapabilityIndex>;
  startCapability(id: string, order: CapabilityOrder, position: ExecutionPosition): Promise<ExecutionEnd>;
  startExecutor(
    id: string,
    order: ExecutorOrder & { readonly name: string },
    position: ExecutionPosition,
  ): Promise<ExecutionEnd>;
  startCode(
    id: string,
    order: ExecutorOrder & { readonly code: string },
    position: ExecutionPosition,
  ): Promise<ExecutionEnd>;
}

/**
 * The executions that one execution starts itself. All of them end with it. Depth and number are limited, so that a capability that
 * calls itself cannot run away. A start over a limit is refused and not queued: waiting starts could block those they wait for.
 */
export class ChildExecutions {
  readonly #running = new Map<
    string,
    { readonly controller: AbortController; readonly ended: Promise<ExecutionEnd> }
  >();
  readonly #ends = new BoundedMap<string, ExecutionEnd>(MAX_ENDS);

  constructor(
    private readonly starter: ExecutionStarter,
    private readonly parentId: string,
    private readonly position: ExecutionPosition,
  ) {}

  /** Resolves when no child execution runs. */
  async idle(): Promise<void> {
    await Promise.all([...this.#running.values()].map(({ ended }) => ended));
  }

  /** The calls of the parent. `parentEnded` is aborted when the parent is over. */
  api(parentEnded: AbortSignal): ExecutionApi {
    const { starter } = this;
    return {
      startCapability: (order) =>
        this.#start('cap', order, parentEnded, (id, position) => starter.startCapability(id, order, position)),
      startExecutor: (order) =>
        this.#start('side', order, parentEnded, (id, position) => starter.startExecutor(id, order, position)),
      startCode: (order) =>
        this.#start('side', order, parentEnded, (id, position) => starter.startCode(id, order, position)),
      stop: (id) => this.#stop(id),
      status: (id) => this.#status(id),
      active: () => this.#active(),
      list: (type) => this.#list(type),
    };
  }

  async #start(
    kind: 'cap' | 'side',
    order: ChildOrder,
    parentEnded: AbortSignal,
    begin: (id: string, position: ExecutionPosition) => Promise<ExecutionEnd>,
  ): Promise<JsonObject> {
    const { context, tree, depth } = this.position;
    if (parentEnded.aborted) throw badRequest('the execution is over');
    if (depth >= MAX_DEPTH) throw badRequest(`executions may be nested ${MAX_DEPTH} deep`);
    if (tree.running >= MAX_RUNNING_IN_TREE) throw badRequest(`more than ${MAX_RUNNING_IN_TREE} executions at a time`);
    const id = newExecutionId(kind, context.clock.now().wallMs);
    const controller = new AbortController();
    const onAbort = () => controller.abort('parent ended');
    parentEnded.addEventListener('abort', onAbort, { once: true });
    tree.running += 1;
    const position = { ...this.position, signal: controller.signal, depth: depth + 1, parentId: this.parentId };
    const ended = begin(id, position);
    this.#running.set(id, { controller, ended });
    const done = ended.then((end) => {
      tree.running -= 1;
      parentEnded.removeEventListener('abort', onAbort);
      this.#running.delete(id);
      return end;
    });
    if (order.wait) return endToJson(id, await done);
    void done.then((end) => this.#ends.set(id, end)); // Never rejects; `idle` waits for it.
    return { ...idMembers(id), status: 'starting' };
  }

  async #stop(id: string): Promise<JsonObject> {
    const child = this.#running.get(id);
    if (!child) throw badRequest(`this execution started no execution ${id} that is running`);
    child.controller.abort('stopped by its parent');
    const end = await child.ended;
    return { ...idMembers(id), status: end.state };
  }

  #status(id: string): JsonObject {
    const end = this.#ends.get(id);
    if (end) return { ...endToJson(id, end), success: true };
    const execution = this.starter.registry.find(id);
    if (execution?.run_id !== this.position.context.runId) throw badRequest(`there is no execution ${id}`);
    return { ...idMembers(id), ...execution };
  }

  #active(): Json {
    return this.starter.registry.active().filter(({ run_id }) => run_id === this.position.context.runId);
  }

  async #list(type: string | null): Promise<Json> {
    const { capabilities } = await this.starter.indexFor(this.position.context);
    return capabilities
      .filter((capability) => type === null || capability.type === type)
      .map(({ name, type, version, description, inputs }) => ({
        name,
        type,
        version,
        description,
        inputs: [...inputs].map((input) => ({ ...input })),
      }));
  }
}

function endToJson(id: string, end: ExecutionEnd): JsonObject {
  const members = { ...idMembers(id), status: end.state };
  if (end.state !== 'completed') return { success: false, ...members, error: end.message, code: end.code };
  const { result, additionalContext } = end;
  return { success: true, ...members, result, ...(additionalContext === undefined ? {} : { additionalContext }) };
}

function idMembers(id: string): JsonObject {
  return id.startsWith('side_') ? { executionId: id, sideExecutionId: id } : { executionId: id };
}
