import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { CapabilityIndex } from '../../../src/domain/capabilities.js';
import { toBatonError } from '../../../src/domain/errors.js';
import type { ContainedProcess } from '../../contain/process.js';
import { FairScheduler } from '../codex/fair-reader.js';
import type { StepContext } from '../executor.js';
import { answerRequest } from './api/dispatch.js';
import { type CapabilityOrder, capabilityParams, checkOrder, type SideOrder } from './capability-params.js';
import { chooseCapability, chooseExecutor, freshExecutor } from './choose-executor.js';
import { ExecutionBook, type ExecutionFacts, executionId } from './execution-book.js';
import { CapabilityHub } from './hub.js';
import { Nest } from './nest.js';
import { failed, type SideEnd } from './side-end.js';
import { runSideExecution, type SideExecutionSpec } from './side-execution.js';

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
      return failed(code, message);
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
export interface Place {
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
