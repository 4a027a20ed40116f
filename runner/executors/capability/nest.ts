import type { Json, JsonObject } from '../../../src/domain/json.js';
import { badRequest, type NestedCapability, type NestedExecutions, type NestedSide } from './api/api.js';
import { executionId } from './execution-book.js';
import type { ExecutionEngine, Place } from './execution-engine.js';
import type { SideEnd } from './side-end.js';

/**
 * What one execution starts itself. All of it ends with it. Depth and number are limited, so that a capability that calls itself
 * cannot run away; what is over the limit is refused, not queued, as those that wait would hold those they wait for.
 */
const MAX_DEPTH = 5;
const MAX_RUNNING_IN_TREE = 8;
/** Ends of executions that nobody waited for. */
const MAX_KEPT_ENDS = 20;

export class Nest {
  readonly #running = new Map<string, { readonly controller: AbortController; readonly ended: Promise<SideEnd> }>();
  readonly #ends = new Map<string, SideEnd>();

  constructor(
    private readonly engine: ExecutionEngine,
    private readonly ownId: string,
    private readonly place: Place,
  ) {}

  /** Settles once nothing of it runs. */
  async idle(): Promise<void> {
    await Promise.all([...this.#running.values()].map(({ ended }) => ended));
  }

  /** `ended`: the execution is over. */
  within(ended: AbortSignal): NestedExecutions {
    const { engine } = this;
    return {
      startCapability: (order: NestedCapability) =>
        this.#start('cap', order, ended, (id, place) => engine.startCapability(id, order, place)),
      startExecutor: (order) =>
        this.#start('side', order, ended, (id, place) => engine.startExecutor(id, order, place)),
      startCode: (order) => this.#start('side', order, ended, (id, place) => engine.startCode(id, order, place)),
      stop: (id) => this.#stop(id),
      status: (id) => this.#status(id),
      active: () => this.#active(),
      list: (type) => this.#list(type),
    };
  }

  async #start(
    kind: 'cap' | 'side',
    order: NestedSide,
    parentEnded: AbortSignal,
    begin: (id: string, place: Place) => Promise<SideEnd>,
  ): Promise<JsonObject> {
    const { context, tree, depth } = this.place;
    if (parentEnded.aborted) throw badRequest('the execution is over');
    if (depth >= MAX_DEPTH) throw badRequest(`executions may be nested ${MAX_DEPTH} deep`);
    if (tree.running >= MAX_RUNNING_IN_TREE) throw badRequest(`more than ${MAX_RUNNING_IN_TREE} executions at a time`);
    const id = executionId(kind, context.clock.now().wallMs);
    const controller = new AbortController();
    const onAbort = () => controller.abort('parent ended');
    parentEnded.addEventListener('abort', onAbort, { once: true });
    tree.running += 1;
    const ended = begin(id, { ...this.place, signal: controller.signal, depth: depth + 1, parentId: this.ownId });
    this.#running.set(id, { controller, ended });
    const done = ended.then((end) => {
      tree.running -= 1;
      parentEnded.removeEventListener('abort', onAbort);
      this.#running.delete(id);
      return end;
    });
    if (order.wait) return answerOf(id, await done);
    void done.then((end) => this.#keep(id, end)); // Never rejects; `idle` waits for it.
    return { ...namesOf(id), status: 'starting' };
  }

  async #stop(id: string): Promise<JsonObject> {
    const child = this.#running.get(id);
    if (!child) throw badRequest(`${id} is no execution that runs and was started from here`);
    child.controller.abort('stopped by its parent');
    const end = await child.ended;
    return { ...namesOf(id), status: end.state };
  }

  #status(id: string): JsonObject {
    const end = this.#ends.get(id);
    if (end) return { ...answerOf(id, end), success: true };
    const found = this.engine.book.find(id);
    if (found?.run_id !== this.place.context.runId) throw badRequest(`there is no execution ${id}`);
    return { ...namesOf(id), ...found };
  }

  #active(): Json {
    return this.engine.book.active().filter(({ run_id }) => run_id === this.place.context.runId);
  }

  async #list(type: string | null): Promise<Json> {
    const { capabilities } = await this.engine.indexFor(this.place.context);
    return capabilities
      .filter((one) => type === null || one.type === type)
      .map(({ name, type, version, description, inputs }) => ({
        name,
        type,
        version,
        description,
        inputs: [...inputs].map((input) => ({ ...input })),
      }));
  }

  #keep(id: string, end: SideEnd): void {
    this.#ends.set(id, end);
    const [oldest] = this.#ends.keys();
    if (this.#ends.size > MAX_KEPT_ENDS && oldest !== undefined) this.#ends.delete(oldest);
  }
}

function answerOf(id: string, end: SideEnd): JsonObject {
  const names = { ...namesOf(id), status: end.state };
  if (end.state !== 'completed') return { success: false, ...names, error: end.message, code: end.code };
  const { result, additionalContext } = end;
  return { success: true, ...names, result, ...(additionalContext === undefined ? {} : { additionalContext }) };
}

function namesOf(id: string): JsonObject {
  return id.startsWith('side_') ? { executionId: id, sideExecutionId: id } : { executionId: id };
}
