import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { type CapabilityExecutor, type CapabilityIndex, executorFor } from '../../../src/domain/capabilities.js';
import { BatonError, toBatonError } from '../../../src/domain/errors.js';
import type { ContainedProcess } from '../../contain/process.js';
import type { StepContext } from '../executor.js';
import { FairScheduler } from '../read-lines.js';
import { answerRequest } from './api/dispatch.js';
import { openToRead, realInside } from './api/workspace-files.js';
import { type CapabilityOrder, capabilityParams, checkOrder, type ExecutorOrder } from './capability-order.js';
import { ChildExecutions, type ExecutionPosition, type ExecutionStarter } from './child-executions.js';
import { chooseCapability, chooseExecutor, executorInFolder, freshExecutor } from './definitions.js';
import { type ExecutionEnd, failExecution } from './execution-end.js';
import { ExecutionRegistry, newExecutionId } from './execution-registry.js';
import { CapabilityHub } from './hub.js';
import { runSideExecution, type SideExecutionSpec } from './side-execution.js';

const MAX_REPORTS = 20;

interface Launch extends ExecutorOrder {
  readonly id: string;
  readonly type: string | null;
  readonly name: string;
  readonly executor: SideExecutionSpec['executor'];
}

/** Starts the executions of steps and of other executions. It is open until `close`, which stops all of them; later starts end at once. */
export class ExecutionEngine implements ExecutionStarter {
  readonly registry = new ExecutionRegistry();
  readonly #hub = new CapabilityHub();
  readonly #scheduler = new FairScheduler();
  readonly #running = new Map<AbortController, Promise<unknown>>();
  /** Processes whose executions are over and that have not exited yet. */
  readonly #leaving = new Set<Promise<void>>();
  #isClosed = false;

  constructor(
    private readonly clientPath: string,
    readonly indexFor: (context: StepContext) => Promise<CapabilityIndex>,
  ) {}

  /** Never rejects. */
  startCapability(id: string, order: CapabilityOrder, position: ExecutionPosition): Promise<ExecutionEnd> {
    return this.#endOf(async () => {
      checkOrder(order);
      const { type, name, timeoutMs } = order;
      const { capability, executor } = chooseCapability(await this.indexFor(position.context), type, name);
      const params = capabilityParams(capability, order.params, id);
      const launch = { id, type, name, executor: await freshExecutor(executor), params, timeoutMs };
      return await this.#launch(launch, position);
    });
  }

  /** Starts an executor without a capability, by its name or its folder. Never rejects. */
  startExecutor(
    id: string,
    order: ExecutorOrder & { readonly name: string },
    position: ExecutionPosition,
  ): Promise<ExecutionEnd> {
    return this.#endOf(async () => {
      const executor = await this.#executorOf(order.name, position.context);
      return await this.#launch({ id, type: null, executor, ...order }, position);
    });
  }

  /** Runs code as an executor, from a temporary folder. Never rejects. */
  startCode(
    id: string,
    order: ExecutorOrder & { readonly code: string },
    position: ExecutionPosition,
  ): Promise<ExecutionEnd> {
    return this.#endOf(async () => {
      const dir = await mkdtemp(join(position.context.tmpDir, 'capability-'));
      try {
        // A separate package: otherwise a package.json further up decides whether the code is a module.
        await writeFile(join(dir, 'package.json'), '{ "private": true }\n');
        await writeFile(join(dir, 'index.js'), order.code);
        const executor = { name: 'code', dir, entryPoint: 'index.js' };
        return await this.#launch({ id, type: null, name: 'code', executor, ...order }, position);
      } finally {
        await rm(dir, { recursive: true, force: true });
      }
    });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const controller of this.#running.keys()) controller.abort('shutdown');
    await Promise.all(this.#running.values());
    await Promise.all(this.#leaving);
    await this.#hub.close();
  }

  /** The name of an executor, the folder of one, or a folder of the workspace. A name may contain a slash. Throws `BatonError`. */
  async #executorOf(name: string, context: StepContext): Promise<CapabilityExecutor> {
    const index = await this.indexFor(context);
    const known = executorFor(index, '', name);
    if (known !== null || !name.includes('/')) return freshExecutor(known ?? chooseExecutor(index, name));
    const { workspace } = context;
    const defined = index.executors.findLast(({ dir }) => dir === resolve(workspace, name));
    if (defined !== undefined) return freshExecutor(defined);
    const folder = await realInside(workspace, name).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') throw new BatonError('ACTION_BLOCK_NOT_FOUND', `${name} does not exist`);
      throw error;
    });
    return executorInFolder(folder, (path) => openToRead(workspace, path));
  }

  async #endOf(execution: () => Promise<ExecutionEnd>): Promise<ExecutionEnd> {
    try {
      return await execution();
    } catch (error) {
      const { code, message } = toBatonError(error);
      return failExecution(code, message);
    }
  }

  async #launch(launch: Launch, position: ExecutionPosition): Promise<ExecutionEnd> {
    const controller = new AbortController();
    const onAbort = () => controller.abort(position.signal.reason);
    position.signal.addEventListener('abort', onAbort, { once: true });
    if (position.signal.aborted) onAbort();
    else if (this.#isClosed) controller.abort('shutdown');
    const ended = this.#run(launch, position, controller.signal);
    this.#running.set(controller, ended);
    try {
      return await ended;
    } finally {
      this.#running.delete(controller);
      position.signal.removeEventListener('abort', onAbort);
    }
  }

  async #run(launch: Launch, position: ExecutionPosition, signal: AbortSignal): Promise<ExecutionEnd> {
    const { id, type, name, executor, params, timeoutMs } = launch;
    const { context, depth, parentId } = position;
    const sideId = id.startsWith('side_') ? id : newExecutionId('side', context.clock.now().wallMs);
    const children = new ChildExecutions(this, id, position);
    const commands = new Set<Promise<ContainedProcess>>();
    const searches = { last: Promise.resolve() };
    const reported = new Set<string>();
    const report = (problem: string) => {
      if (reported.has(problem) || reported.size >= MAX_REPORTS) return;
      reported.add(problem);
      context.warn('an executor used what is not offered', { execution_id: id, executor: executor.name, problem });
    };
    this.registry.begin({ id, sideExecutionId: sideId, type, name, executor: executor.name, parentId, depth }, context);
    const spec: SideExecutionSpec = { id: sideId, executionId: id, executor, params, context, signal, timeoutMs };
    const { end, gone } = await runSideExecution(spec, {
      hub: this.#hub,
      scheduler: this.#scheduler,
      clientPath: this.clientPath,
      onRunning: () => this.registry.changeStatus(id, 'running'),
      onStopping: () => this.registry.changeStatus(id, 'stopping'),
      answer: (request, ended) =>
        answerRequest(request, {
          ...{ executionId: id, context, commands, searches, report, signal: ended },
          executions: children.api(ended),
        }),
    });
    this.#awaitExit(gone, context);
    await children.idle();
    this.registry.end(id, end, context);
    return end;
  }

  /** The run does not end, and the engine does not close, before the process is gone. */
  #awaitExit(gone: Promise<void>, { resources }: SideExecutionSpec['context']): void {
    const leaving = gone.then(() => void this.#leaving.delete(leaving));
    this.#leaving.add(leaving);
    const ofRun = resources.get('capability_processes', () => {
      const processes = new Set<Promise<void>>();
      resources.atEnd(async () => void (await Promise.all(processes)));
      return processes;
    });
    ofRun.add(leaving);
    void leaving.then(() => ofRun.delete(leaving));
  }
}
