import { fileURLToPath, pathToFileURL } from 'node:url';
import type { CapabilityIndex } from '../../../src/domain/capabilities.js';
import type { JsonObject } from '../../../src/domain/json.js';
import type { StepContext } from '../executor.js';
import type { CapabilityOrder } from './capability-params.js';
import { type ExecutionBook, executionId } from './execution-book.js';
import { ExecutionEngine } from './execution-engine.js';
import type { SideEnd } from './side-end.js';

const CLIENT = fileURLToPath(new URL('client/baton-capability.mjs', import.meta.url));

export interface CapabilityManagerOptions {
  /** Never rejects. */
  discover(projectDir: string): Promise<CapabilityIndex>;
  /** Module that executors import to talk to us. */
  readonly clientPath?: string;
}

/** How a capability ended, and the id that it has in transcript and stats. */
export type CapabilityEnd = SideEnd & { readonly executionId: string };

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
    return context.run.get('capability_index', () => this.refresh(context.workflow.dir));
  }
}

/** A path that `import()` takes as it is; some characters mean something else in an address. */
function importable(path: string): string {
  return /[%?#\\]/.test(path) ? pathToFileURL(path).href : path;
}
