import { randomUUID } from 'node:crypto';
import { EventEmitter } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { BoundedMap } from '../../../src/domain/bounded-map.js';
import type { CapabilityIndex } from '../../../src/domain/capabilities.js';
import { toBatonError } from '../../../src/domain/errors.js';
import type { Json, JsonObject } from '../../../src/domain/json.js';
import type { ContainedProcess } from '../../contain/process.js';
import type { StepContext } from '../executor.js';
import { FairScheduler } from '../read-lines.js';
import { badRequest, type NestedCapability, type NestedExecutions, type NestedSide } from './api/api.js';
import { answerRequest } from './api/dispatch.js';
import { type CapabilityOrder, capabilityParams, checkOrder, type SideOrder } from './capability-manager.js';
import { chooseCapability, chooseExecutor, freshExecutor } from './definitions.js';
import { CapabilityHub } from './hub.js';
import { failSideExecution, runSideExecution, type SideEnd, type SideExecutionSpec } from './side-execution.js';

/**
 * Starts executions, of steps and of executions alike, and knows those that run. It is closed once: then all of them are stopped
 * and no other begins.
 */
export class ExecutionEngine {
  readonly book = new ExecutionBook();
  readonly #hub = new CapabilityHub();
  readonly #scheduler = new FairScheduler();
  readonly #running = new Map<AbortController, Promise<unknown>>();
  #isClosed = false;

  constructor(
    private readonly clientPath: string,
    readonly indexFor: (context: StepContext) => Promise<CapabilityIndex>,
  ) {}

  /** Never rejects. */
  startCapability(id: string, order: CapabilityOrder, place: Place): Promise<SideEnd> {
    return this.#guard(async () => {
      checkOrder(order);
      const { type, name, timeoutMs } = order;
      const { capability, executor } = chooseCapability(await this.indexFor(place.context), type, name);
      const params = capabilityParams(capability, order.params, id);
      return await this.#launch({ id, type, name, executor: await freshExecutor(executor), params, timeoutMs }, place);
    });
  }

  /** An executor without a capability. Never rejects. */
  startExecutor(id: string, order: SideOrder & { readonly name: string }, place: Place): Promise<SideEnd> {
    return this.#guard(async () => {
      const executor = await freshExecutor(chooseExecutor(await this.indexFor(place.context), order.name));
      return await this.#launch({ id, type: null, executor, ...order }, place);
    });
  }

  /** Code that is run as if it were an executor, from a folder that lives as long as it does. Never rejects. */
  startCode(id: string, order: SideOrder & { readonly code: string }, place: Place): Promise<SideEnd> {
    return this.#guard(async () => {
      const dir = await mkdtemp(join(place.context.tmpDir, 'capability-'));
      try {
        // Its own package: whether it is a module shows in the code, not in some folder above.
        await writeFile(join(dir, 'package.json'), '{ "private": true }\n');
        await writeFile(join(dir, 'index.js'), order.code);
        const executor = { name: 'code', dir, entryPoint: 'index.js' };
        return await this.#launch({ id, type: null, name: 'code', executor, ...order }, place);
      } finally {
        await rm(dir, { recursive: true, force: true });
      }
    });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const controller of this.#running.keys()) controller.abort('shutdown');
    await Promise.all(this.#running.values());
    await this.#hub.close();
  }

  async #guard(work: () => Promise<SideEnd>): Promise<SideEnd> {
    try {
      return await work();
    } catch (error) {
      const { code, message } = toBatonError(error);
      return failSideExecution(code, message);
    }
  }

  async #launch(launch: Launch, place: Place): Promise<SideEnd> {
    const controller = new AbortController();
    const onAbort = () => controller.abort(place.signal.reason);
    place.signal.addEventListener('abort', onAbort, { once: true });
    if (place.signal.aborted) onAbort();
    else if (this.#isClosed) controller.abort('shutdown');
    const ended = this.#run(launch, place, controller.signal);
    this.#running.set(controller, ended);
    try {
      return await ended;
    } finally {
      this.#running.delete(controller);
      place.signal.removeEventListener('abort', onAbort);
    }
  }

  async #run(launch: Launch, place: Place, signal: AbortSignal): Promise<SideEnd> {
    const { id, type, name, executor, params, timeoutMs } = launch;
    const { context, depth, parentId } = place;
    const side = id.startsWith('side_') ? id : executionId('side', context.clock.now().wallMs);
    const facts: ExecutionFacts = { id, sideExecutionId: side, type, name, executor: executor.name, parentId, depth };
    const nest = new Nest(this, id, place);
    const mine = { executionId: id, context, commands: new Set<Promise<ContainedProcess>>() };
    const searches = { last: Promise.resolve() };
    this.book.begin(facts, context);
    const spec: SideExecutionSpec = { id: side, executionId: id, executor, params, context, signal, timeoutMs };
    const end = await runSideExecution(spec, {
      hub: this.#hub,
      scheduler: this.#scheduler,
      clientPath: this.clientPath,
      onRunning: () => this.book.changed(id, 'running'),
      onStopping: () => this.book.changed(id, 'stopping'),
      answer: (request, ended) =>
        answerRequest(request, { ...mine, searches, signal: ended, nested: nest.within(ended) }),
    });
    await nest.idle();
    this.book.end(id, end, context);
    return end;
  }
}

/** Where in the tree of executions of a step one begins. */
interface Place {
  readonly context: StepContext;
  /** Aborted when it must end. */
  readonly signal: AbortSignal;
  /** 1 for the one that the step starts. */
  readonly depth: number;
  readonly parentId: string | null;
  /** Shared by the whole tree. */
  readonly tree: { running: number };
}

interface Launch extends SideOrder {
  readonly id: string;
  readonly type: string | null;
  readonly name: string;
  readonly executor: SideExecutionSpec['executor'];
}

/**
 * What one execution starts itself. All of it ends with it. Depth and number are limited, so that a capability that calls itself
 * cannot run away; what is over the limit is refused, not queued, as those that wait would hold those they wait for.
 */
const MAX_DEPTH = 5;
const MAX_RUNNING_IN_TREE = 8;
/** Ends of executions that nobody waited for. */
const MAX_KEPT_ENDS = 20;

class Nest {
  readonly #running = new Map<string, { readonly controller: AbortController; readonly ended: Promise<SideEnd> }>();
  readonly #ends = new BoundedMap<string, SideEnd>(MAX_KEPT_ENDS);

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
    void done.then((end) => this.#ends.set(id, end)); // Never rejects; `idle` waits for it.
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

/** Which executions there are, and how the last ones ended. */
const MAX_REMEMBERED = 256;

type ExecutionStatus = 'starting' | 'running' | 'stopping' | SideEnd['state'];

const CAPABILITY_EVENTS = [
  'capabilityStarted',
  'capabilityCompleted',
  'capabilityFailed',
  'capabilityTimeout',
] as const;
type CapabilityEvent = (typeof CAPABILITY_EVENTS)[number];

interface ExecutionFacts {
  /** `cap_…`, or `side_…` for one without a capability. */
  readonly id: string;
  readonly sideExecutionId: string;
  /** `null`: without a capability. */
  readonly type: string | null;
  readonly name: string;
  readonly executor: string;
  /** Of the execution that started it. */
  readonly parentId: string | null;
  readonly depth: number;
}

interface Entry extends ExecutionFacts {
  readonly runId: string;
  readonly startedAtMs: number;
  status: ExecutionStatus;
}

export class ExecutionBook {
  /** Listeners get what the transcript gets, and must not throw. */
  readonly events = new EventEmitter<{ [event in CapabilityEvent]: [JsonObject] }>();
  readonly #active = new Map<string, Entry>();
  readonly #past = new BoundedMap<string, Entry>(MAX_REMEMBERED);
  readonly #totals = { completed: 0, failed: 0, timeout: 0, stopped: 0 };

  begin(facts: ExecutionFacts, context: StepContext): void {
    const startedAtMs = context.clock.now().wallMs;
    const entry: Entry = { ...facts, runId: context.runId, startedAtMs, status: 'starting' };
    this.#active.set(facts.id, entry);
    this.#tell('capabilityStarted', entry, context, {});
  }

  changed(id: string, status: 'running' | 'stopping'): void {
    const entry = this.#active.get(id);
    if (entry) entry.status = status;
  }

  end(id: string, end: SideEnd, context: StepContext): void {
    const entry = this.#active.get(id);
    if (!entry) return;
    entry.status = end.state;
    this.#totals[end.state] += 1;
    this.#active.delete(id);
    this.#past.set(id, entry);
    this.#tell(eventOf(end), entry, context, end.state === 'completed' ? {} : { code: end.code, error: end.message });
  }

  /** `null`: unknown, or too long ago. */
  find(id: string): JsonObject | null {
    const entry = this.#active.get(id) ?? this.#past.get(id);
    return entry ? described(entry) : null;
  }

  active(): JsonObject[] {
    return [...this.#active.values()].map(described);
  }

  stats(): JsonObject {
    return { active: this.active(), totals: { ...this.#totals } };
  }

  #tell(event: CapabilityEvent, entry: Entry, context: StepContext, more: JsonObject): void {
    const data = { event, ...described(entry), ...more };
    context.audit('capability_event', data);
    this.events.emit(event, data);
  }
}

/** `cap_<timestamp>_<uuid8>` for capabilities, `side_…` for the process behind them. */
export function executionId(kind: 'cap' | 'side', wallMs: number): string {
  return `${kind}_${Math.floor(wallMs)}_${randomUUID().slice(0, 8)}`;
}

function eventOf({ state }: SideEnd): CapabilityEvent {
  if (state === 'completed') return 'capabilityCompleted';
  return state === 'timeout' ? 'capabilityTimeout' : 'capabilityFailed';
}

function described(entry: Entry): JsonObject {
  return {
    execution_id: entry.id,
    side_execution_id: entry.sideExecutionId,
    type: entry.type,
    name: entry.name,
    executor: entry.executor,
    status: entry.status,
    started_at: new Date(entry.startedAtMs).toISOString(),
    run_id: entry.runId,
    parent_id: entry.parentId,
    depth: entry.depth,
  };
}
