import { BoundedMap } from '../../../src/domain/bounded-map.js';
import type { Capability, CapabilityIndex } from '../../../src/domain/capabilities.js';
import { BatonError } from '../../../src/domain/errors.js';
import { type Json, type JsonObject, listOf, textOf } from '../../../src/domain/json.js';
import type { StepContext } from '../executor.js';
import { badRequest, type CapabilityFilter, type ChildOrder, type ExecutionApi } from './api/api.js';
import type { CapabilityOrder, ExecutorOrder } from './capability-order.js';
import type { ExecutionEnd } from './execution-end.js';
import { type ExecutionRegistry, newExecutionId } from './execution-registry.js';
import { parentOf } from './executor-child.js';

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
      list: (filter) => this.#list(filter),
      detail: (name, type) => this.#detail(name, type),
      executors: () => this.#executors(),
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
    const execution = this.starter.registry.find(id);
    if (execution?.run_id !== this.position.context.runId) throw badRequest(`there is no execution ${id}`);
    const end = this.#ends.get(id);
    const facts = end ? { ...endToJson(id, end), success: true } : { ...idMembers(id), ...execution };
    return { ...facts, ...publishedStatus(execution, this.position.context) };
  }

  #active(): Json {
    return this.starter.registry.active().filter(({ run_id }) => run_id === this.position.context.runId);
  }

  async #list({ type, tags, author }: CapabilityFilter): Promise<Json> {
    const { capabilities } = await this.starter.indexFor(this.position.context);
    return capabilities
      .filter((capability) => type === null || capability.type === type)
      .filter(({ config }) => tags === null || listOf(config.tags).some((tag) => tags.includes(tag as string)))
      .filter(({ config }) => author === null || textOf(config.author) === author)
      .map(describeCapability);
  }

  async #detail(name: string, type: string | null): Promise<JsonObject> {
    const { capabilities } = await this.starter.indexFor(this.position.context);
    const found = capabilities.find((one) => one.name === name && (type === null || one.type === type));
    if (found) return { capability: describeCapability(found) };
    throw new BatonError('CAPABILITY_NOT_FOUND', `there is no ${type ?? 'capability'} named ${name}`, { name });
  }

  async #executors(): Promise<Json> {
    const { executors } = await this.starter.indexFor(this.position.context);
    return executors.map(({ name, version, description, supportedTypes, entryPoint, dir }) => ({
      ...{ id: name, name, version, description, supportedTypes: [...supportedTypes], entryPoint, path: dir },
    }));
  }
}

/** As the types of the published SDK describe a capability. */
function describeCapability({ name, type, version, description, inputs, dir, config }: Capability): JsonObject {
  const shown = inputs.map((input) => ({ ...input }));
  const author = textOf(config.author);
  const metadata = {
    ...(author === null ? {} : { author }),
    tags: listOf(config.tags) as Json[],
    inputs: shown,
    outputs: listOf(config.outputs) as Json[],
  };
  return { id: `${type}/${name}`, name, type, version, description, path: dir, inputs: shown, metadata };
}

/** As the types of the published SDK describe an execution: under `execution`, and for side executions beside it. */
function publishedStatus(execution: JsonObject, context: StepContext): JsonObject {
  const { threadId, agentId, agentInstanceId } = parentOf(context);
  const { execution_id, side_execution_id, name, type, executor, status, started_at } = execution;
  const startTime = Date.parse(String(started_at));
  const side =
    type === null ? { name: name ?? null, threadId, startTime, isRuntimeCode: execution.executor === 'code' } : {};
  const described = {
    id: execution_id ?? null,
    capabilityName: name ?? null,
    capabilityType: type ?? null,
    executorName: executor ?? null,
    sideExecutionId: side_execution_id ?? null,
    threadId,
    parentAgentId: agentId,
    parentAgentInstanceId: agentInstanceId,
    startTime,
    status: status ?? null,
  };
  return { ...side, execution: described };
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
